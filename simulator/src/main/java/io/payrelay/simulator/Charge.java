package io.payrelay.simulator;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** The charge object of the protocol at one moment. */
record Charge(
    String id,
    String merchantTransactionId,
    ChargeStatus status,
    long amountMinor,
    String currency,
    @Nullable String payeeAccount,
    @Nullable String failureCode,
    Instant createdAt) {

  Charge with(ChargeStatus newStatus, @Nullable String newFailureCode) {
    return new Charge(
        id,
        merchantTransactionId,
        newStatus,
        amountMinor,
        currency,
        payeeAccount,
        newFailureCode,
        createdAt);
  }

  boolean moneyMoved() {
    return status == ChargeStatus.SUCCEEDED;
  }
}
