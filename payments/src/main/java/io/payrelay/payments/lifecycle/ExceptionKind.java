package io.payrelay.payments.lifecycle;

/** What a person has to look at. */
public enum ExceptionKind {
  /** The provider took money for a payment that had FAILED. */
  LATE_SUCCESS,
  /** The provider calls a payment failed whose money is booked, in suspense: it stays UNKNOWN. */
  FAILED_AFTER_CAPTURE,
  /** A second provider transaction took money for one payment. */
  DOUBLE_CHARGE,
  AMOUNT_MISMATCH,
  CURRENCY_MISMATCH,
  PAYEE_MISMATCH,
  PROVIDER_MISMATCH,
  /** One provider transaction is claimed by two payments. */
  TRANSACTION_CLAIMED_TWICE,
  /** The triggering event and the payment row name other terms. */
  PAYLOAD_MISMATCH,
  /** Still PENDING or UNKNOWN after all the time it had. */
  UNRESOLVED,
  /** The provider refused our idempotency key as used with other parameters. */
  KEY_REFUSED,
  UNKNOWN_PROVIDER,
  DISPUTED,
  DISPUTE_WON,
  DISPUTE_LOST,
  PROVIDER_REFUND,
  /** A refund that had SUCCEEDED failed at the provider: the money is back, the payer lacks it. */
  REFUND_RETURNED,
  /** The provider gave money back for a refund that had FAILED. */
  LATE_REFUND,
  /** The provider gave money back twice for one refund. */
  DOUBLE_REFUND,
  /**
   * A refund that a person asked for FAILED: the money is here still, and no upstream hears of it.
   */
  REFUND_FAILED,
  UNMATCHED_PROVIDER_PAYMENT,
  /** One webhook event id came with two contents. */
  WEBHOOK_CONFLICT,
  /** An authentic webhook event could not be decided on. */
  WEBHOOK_FAILED,
  /** A payment row exists and its triggering event never came. */
  MISSING_EVENT;

  /**
   * Is it a state, which may come back after a person resolved it? All else is an event: resolved,
   * it is settled, however often it is said again.
   */
  public boolean recurs() {
    return this == UNRESOLVED
        || this == KEY_REFUSED
        || this == UNKNOWN_PROVIDER
        || this == MISSING_EVENT
        || this == WEBHOOK_FAILED;
  }
}
