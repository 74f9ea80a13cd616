package io.payrelay.payments.store;

import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * An attempt that is ours until its lease is over. Durations are the database's, as of the claim: a
 * deadline is the reading of a monotonic clock before the claim plus the duration. Immutable; the
 * array is not changed by anybody.
 *
 * @param requestedAt when the payment was asked for: nothing was sent before
 * @param attemptNumber 1 for the operation's first
 * @param callCount calls so far, this one included
 * @param queryCount queries and cancellations so far, this one included
 * @param keySafeLeft how long the key may still be used; not positive: no longer
 * @param resolveLeft how long the operation is worked on; not positive: no longer
 * @param sinceLastCall how long ago the last earlier call was claimed; null where there was none
 * @param doubtful may an earlier call have been executed?
 */
public record Claim(
    long operationId,
    long attemptId,
    int attemptNumber,
    OperationAction action,
    String paymentId,
    String provider,
    Instant requestedAt,
    String idempotencyKey,
    byte[] body,
    @Nullable String traceId,
    int callCount,
    int queryCount,
    Duration leaseLeft,
    Duration keySafeLeft,
    Duration resolveLeft,
    @Nullable Duration sinceLastCall,
    boolean doubtful) {

  /** Ids and counts only. */
  @Override
  public String toString() {
    return "Claim[" + paymentId + " " + action + " attempt " + attemptNumber + "]";
  }
}
