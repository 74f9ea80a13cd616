package io.payrelay.payments.lifecycle;

/** Where a refund stands. */
public enum RefundStatus {
  /** Asked for; nobody was called yet, as far as we know. */
  REQUESTED,
  /** The provider works on it. */
  PENDING,
  /** The provider says that the money went back. It may still turn out otherwise. */
  SUCCEEDED,
  /** The provider said no, for good. Terminal. */
  FAILED,
  /** We do not know. Never to be called failed. */
  UNKNOWN,
  /** It had SUCCEEDED and failed after all: the money is back with us. Terminal. */
  RETURNED;

  /** Has it an answer? From SUCCEEDED it may only become RETURNED, from the others nothing. */
  public boolean ended() {
    return this == SUCCEEDED || this == FAILED || this == RETURNED;
  }
}
