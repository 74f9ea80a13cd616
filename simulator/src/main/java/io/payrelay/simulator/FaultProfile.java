package io.payrelay.simulator;

import java.util.Collections;
import java.util.EnumMap;
import java.util.Map;

/**
 * How often each fault strikes, in basis points (1/10,000) of the calls that may be struck.
 * Immutable.
 *
 * <p>A call, query or event is hit by at most one fault of its table. Faults of calls and queries
 * stop after {@link #faultyCalls()} of them for one merchant_transaction_id or merchant_refund_id,
 * so that every payment can be resolved by retry or query. Webhooks may be lost for good.
 */
// The maps are unmodifiable, which the checker cannot see.
@SuppressWarnings("ImmutableEnumChecker")
public enum FaultProfile {
  /** Honest and prompt. */
  NONE(0, Map.of(), Map.of(), Map.of(), Map.of(), Map.of()),

  /** A few percent of everything: about one first call in five is hit. */
  DEFAULT(
      2,
      Map.of(
          Fault.RESET_BEFORE, 200,
          Fault.NOT_PROCESSED, 250,
          Fault.RATE_LIMITED, 250,
          Fault.RESET_AFTER, 200,
          Fault.TIMEOUT_AFTER, 200,
          Fault.ERROR_500_AFTER, 200,
          Fault.TRUNCATED_BODY, 150,
          Fault.HTML_502_AFTER, 200,
          Fault.SLOW, 300),
      Map.of(
          Outcome.DECLINED, 300,
          Outcome.PENDING_THEN_SUCCEEDED, 400,
          Outcome.PENDING_THEN_FAILED, 100),
      Map.of(
          RefundOutcome.FAILED, 200,
          RefundOutcome.PENDING_THEN_SUCCEEDED, 500,
          RefundOutcome.PENDING_THEN_FAILED, 100,
          RefundOutcome.SUCCEEDED_THEN_FAILED, 100),
      Map.of(QueryFault.UNAVAILABLE, 200, QueryFault.TIMEOUT, 100),
      Map.of(
          WebhookFault.LOST, 300,
          WebhookFault.DOUBLED, 300,
          WebhookFault.DOUBLED_OTHER_ID, 100,
          WebhookFault.REORDERED, 300,
          WebhookFault.LATE, 200)),

  /** About half of the first calls are hit, and half of the webhooks. */
  STORM(
      4,
      Map.of(
          Fault.RESET_BEFORE, 550,
          Fault.NOT_PROCESSED, 550,
          Fault.RATE_LIMITED, 600,
          Fault.RESET_AFTER, 550,
          Fault.TIMEOUT_AFTER, 550,
          Fault.ERROR_500_AFTER, 550,
          Fault.TRUNCATED_BODY, 550,
          Fault.HTML_502_AFTER, 550,
          Fault.SLOW, 550),
      Map.of(
          Outcome.DECLINED, 600,
          Outcome.PENDING_THEN_SUCCEEDED, 900,
          Outcome.PENDING_THEN_FAILED, 300),
      Map.of(
          RefundOutcome.FAILED, 500,
          RefundOutcome.PENDING_THEN_SUCCEEDED, 1500,
          RefundOutcome.PENDING_THEN_FAILED, 300,
          RefundOutcome.SUCCEEDED_THEN_FAILED, 500),
      Map.of(QueryFault.UNAVAILABLE, 1000, QueryFault.TIMEOUT, 500),
      Map.of(
          WebhookFault.LOST, 1500,
          WebhookFault.DOUBLED, 1000,
          WebhookFault.DOUBLED_OTHER_ID, 500,
          WebhookFault.REORDERED, 1000,
          WebhookFault.LATE, 1000));

  private final int faultyCalls;
  private final Map<Fault, Integer> calls;
  private final Map<Outcome, Integer> outcomes;
  private final Map<RefundOutcome, Integer> refunds;
  private final Map<QueryFault, Integer> queries;
  private final Map<WebhookFault, Integer> webhooks;

  FaultProfile(
      int faultyCalls,
      Map<Fault, Integer> calls,
      Map<Outcome, Integer> outcomes,
      Map<RefundOutcome, Integer> refunds,
      Map<QueryFault, Integer> queries,
      Map<WebhookFault, Integer> webhooks) {
    this.faultyCalls = faultyCalls;
    this.calls = inDeclarationOrder(calls);
    this.outcomes = inDeclarationOrder(outcomes);
    this.refunds = inDeclarationOrder(refunds);
    this.queries = inDeclarationOrder(queries);
    this.webhooks = inDeclarationOrder(webhooks);
  }

  /** Only the first so many calls, and queries, of one merchant_transaction_id can be hit. */
  public int faultyCalls() {
    return faultyCalls;
  }

  Map<Fault, Integer> calls() {
    return calls;
  }

  Map<Outcome, Integer> outcomes() {
    return outcomes;
  }

  Map<RefundOutcome, Integer> refunds() {
    return refunds;
  }

  Map<QueryFault, Integer> queries() {
    return queries;
  }

  Map<WebhookFault, Integer> webhooks() {
    return webhooks;
  }

  // Map.of iterates in an order that changes from one JVM to the next; a seed has to mean the same
  // in each.
  private static <K extends Enum<K>> Map<K, Integer> inDeclarationOrder(Map<K, Integer> table) {
    return table.isEmpty() ? Map.of() : Collections.unmodifiableMap(new EnumMap<>(table));
  }
}
