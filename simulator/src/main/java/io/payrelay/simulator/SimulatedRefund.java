package io.payrelay.simulator;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A refund as the provider knows it, for oracles. Immutable snapshot.
 *
 * @param chargeId the charge whose money it gives back
 * @param moneyReturned whether the customer has the money: false again where it came back
 * @param everSucceeded whether it succeeded at any time, also where it failed afterwards
 * @param calls calls so far for this merchant_refund_id, refused and lost ones included
 */
public record SimulatedRefund(
    String id,
    String merchantRefundId,
    String chargeId,
    String merchantTransactionId,
    RefundStatus status,
    long amountMinor,
    String currency,
    @Nullable String failureCode,
    Instant createdAt,
    String idempotencyKey,
    boolean moneyReturned,
    boolean everSucceeded,
    int calls) {}
