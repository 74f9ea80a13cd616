package io.payrelay.simulator;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** The refund object of the protocol at one moment. */
record Refund(
    String id,
    String merchantRefundId,
    String chargeId,
    String merchantTransactionId,
    RefundStatus status,
    long amountMinor,
    String currency,
    @Nullable String failureCode,
    Instant createdAt) {

  Refund with(RefundStatus newStatus, @Nullable String newFailureCode) {
    return new Refund(
        id,
        merchantRefundId,
        chargeId,
        merchantTransactionId,
        newStatus,
        amountMinor,
        currency,
        newFailureCode,
        createdAt);
  }
}
