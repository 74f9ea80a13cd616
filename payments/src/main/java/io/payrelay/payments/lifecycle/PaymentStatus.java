package io.payrelay.payments.lifecycle;

/** Where a payment stands. */
public enum PaymentStatus {
  /** Asked for; nobody was called yet, as far as we know. */
  CREATED,
  /** The provider works on it. */
  PENDING,
  /** The provider said yes, in a way we believe. Terminal. */
  SUCCEEDED,
  /** The provider said no, for good. Terminal. */
  FAILED,
  /** We do not know. Never to be called failed. */
  UNKNOWN;

  /** Terminal states do not move. */
  public boolean terminal() {
    return this == SUCCEEDED || this == FAILED;
  }
}
