package io.payrelay.providers;

import io.payrelay.payments.money.Money;
import org.jspecify.annotations.Nullable;

/**
 * A refund as it was asked for. Immutable.
 *
 * @param providerTransactionId the money movement that is given back, by the provider's canonical
 *     id
 * @param reason for the provider, where it takes one; no private data
 */
public record RefundOrder(
    String refundId,
    String paymentId,
    String providerTransactionId,
    Money amount,
    @Nullable String reason) {}
