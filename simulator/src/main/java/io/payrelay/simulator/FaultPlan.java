package io.payrelay.simulator;

import java.util.Map;

/**
 * Decides which fault strikes which call. A pure function of (seed, profile,
 * merchant_transaction_id, number of the call): the same run of one id gets the same faults
 * whatever other ids do. Thread-safe.
 */
final class FaultPlan {
  private static final int BASIS_POINTS = 10_000;

  /** Keeps the draws for one id independent of each other. */
  private enum Draw {
    CALL(1),
    OUTCOME(2),
    QUERY(3),
    WEBHOOK(4),
    REFUND_OUTCOME(5);

    private final long salt;

    Draw(int number) {
      salt = 0x9E3779B97F4A7C15L * number;
    }
  }

  private final long seed;
  private final FaultProfile profile;
  private final boolean everyWebhookArrives;

  FaultPlan(long seed, FaultProfile profile) {
    this(seed, profile, false);
  }

  FaultPlan(long seed, FaultProfile profile, boolean everyWebhookArrives) {
    this.seed = seed;
    this.profile = profile;
    this.everyWebhookArrives = everyWebhookArrives;
  }

  /** The fault of the n-th call, counted from 1, of {@code POST /v1/charges} for the id. */
  Fault call(String merchantTransactionId, int number) {
    return number > profile.faultyCalls()
        ? Fault.NONE
        : pick(profile.calls(), Fault.NONE, draw(Draw.CALL, merchantTransactionId, number));
  }

  /** What becomes of the n-th charge, counted from 1, that is executed for the id. */
  Outcome outcome(String merchantTransactionId, int number) {
    return pick(
        profile.outcomes(), Outcome.SUCCEEDED, draw(Draw.OUTCOME, merchantTransactionId, number));
  }

  /** What becomes of the n-th refund, counted from 1, that is executed for the id. */
  RefundOutcome refundOutcome(String merchantRefundId, int number) {
    return pick(
        profile.refunds(),
        RefundOutcome.SUCCEEDED,
        draw(Draw.REFUND_OUTCOME, merchantRefundId, number));
  }

  /** The fault of the n-th query, counted from 1, for the id. */
  QueryFault query(String merchantTransactionId, int number) {
    return number > profile.faultyCalls()
        ? QueryFault.NONE
        : pick(profile.queries(), QueryFault.NONE, draw(Draw.QUERY, merchantTransactionId, number));
  }

  /** The fault of the n-th webhook event, counted from 1, for the id. */
  WebhookFault webhook(String merchantTransactionId, int number) {
    WebhookFault fault =
        pick(
            profile.webhooks(),
            WebhookFault.NONE,
            draw(Draw.WEBHOOK, merchantTransactionId, number));
    return everyWebhookArrives && fault == WebhookFault.LOST ? WebhookFault.LATE : fault;
  }

  private static <K> K pick(Map<K, Integer> table, K none, int draw) {
    int end = 0;
    for (Map.Entry<K, Integer> row : table.entrySet()) {
      end += row.getValue();
      if (draw < end) {
        return row.getKey();
      }
    }
    return none;
  }

  private int draw(Draw draw, String merchantTransactionId, int number) {
    long hash = mix(seed ^ draw.salt);
    for (int i = 0; i < merchantTransactionId.length(); i++) {
      hash = (hash ^ merchantTransactionId.charAt(i)) * 0x100000001B3L;
    }
    return (int) Long.remainderUnsigned(mix(hash + 0x9E3779B97F4A7C15L * number), BASIS_POINTS);
  }

  // The finalizer of SplitMix64: every bit of the input changes about half of the output.
  private static long mix(long value) {
    long z = value;
    z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
    z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
    return z ^ (z >>> 31);
  }
}
