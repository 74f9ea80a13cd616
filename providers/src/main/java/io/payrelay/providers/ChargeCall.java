package io.payrelay.providers;

import java.time.Duration;

/**
 * One try of a charge. Immutable; the array is not changed by anybody.
 *
 * @param body the operation's exact bytes
 * @param sendDeadlineNs System.nanoTime() after which the bytes must not leave: lease or key may be
 *     over
 * @param timeout how long to wait for the answer
 */
public record ChargeCall(
    String paymentId, String idempotencyKey, byte[] body, long sendDeadlineNs, Duration timeout) {}
