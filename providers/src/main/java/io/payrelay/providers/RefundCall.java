package io.payrelay.providers;

import java.time.Duration;

/**
 * One try of a refund. Immutable; the array is not changed by anybody.
 *
 * @param providerTransactionId the money movement that is given back
 * @param body the operation's exact bytes
 * @param sendDeadlineNs System.nanoTime() after which the bytes must not leave: lease or key may be
 *     over
 * @param timeout how long to wait for the answer
 */
public record RefundCall(
    String refundId,
    String paymentId,
    String providerTransactionId,
    String idempotencyKey,
    byte[] body,
    long sendDeadlineNs,
    Duration timeout) {}
