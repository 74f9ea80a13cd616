package io.payrelay.payments.store;

import org.jspecify.annotations.Nullable;

/**
 * An operation to be written. Immutable; the array is not changed by anybody.
 *
 * @param body the exact bytes of every try
 * @param first QUERY where the payment was seen at the provider before we had called it
 */
public record NewOperation(
    String paymentId,
    String provider,
    String idempotencyKey,
    byte[] body,
    @Nullable String traceId,
    OperationAction first) {}
