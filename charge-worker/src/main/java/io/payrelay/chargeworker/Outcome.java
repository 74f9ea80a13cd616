package io.payrelay.chargeworker;

import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.lifecycle.Refund;
import io.payrelay.payments.store.Claim;
import io.payrelay.providers.Capabilities;
import io.payrelay.providers.ProviderAnswer;
import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * What a claimed attempt came to, not yet written. Immutable.
 *
 * @param askedNs by {@link System#nanoTime}, when the call or the question was started
 * @param refund what the claim is about; null: its payment's charge
 */
record Outcome(
    ProviderLane lane,
    Claim claim,
    ProviderAnswer answer,
    long askedNs,
    Duration took,
    @Nullable Refund refund) {

  /** What the provider promises of it. */
  Capabilities capabilities() {
    return refund == null
        ? lane.provider().capabilities()
        : RefundCalls.capabilities(lane.provider(), refund);
  }

  /** When the call or the question was started, by the clock that says now. */
  Instant askedAt(Instant now) {
    return now.minusNanos(System.nanoTime() - askedNs);
  }

  /** The fact, said of what the claim is about. */
  Fact about(Fact fact) {
    return refund == null ? fact : fact.aboutRefund(refund.refundId());
  }

  /** That it is left to a person, with what was tried. */
  Fact unresolved(Instant now) {
    return about(
        Fact.plain(
            FactSource.WORKER,
            claim.provider(),
            claim.paymentId(),
            Observation.UNRESOLVED,
            null,
            now,
            Map.of(
                "calls", Integer.toString(claim.callCount()),
                "queries", Integer.toString(claim.queryCount()),
                "last_result", ResultColumns.outcome(answer.result()).name(),
                "key_safe", Boolean.toString(!claim.keySafeLeft().isNegative()))));
  }
}
