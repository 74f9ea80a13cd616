package io.payrelay.payments.store;

/** How an attempt ended. */
public enum AttemptOutcome {
  SUCCEEDED,
  PENDING,
  DECLINED,
  NOT_PROCESSED,
  UNKNOWN,
  NOT_FOUND,
  /** Its deadline was over before the bytes left. */
  RETURNED_UNSENT,
  /** Its lease was over and nobody had said how it ended. */
  ABANDONED;

  /** Did the provider say anything of the payment? */
  boolean answered() {
    return switch (this) {
      case SUCCEEDED, PENDING, DECLINED, NOT_FOUND -> true;
      case NOT_PROCESSED, UNKNOWN, RETURNED_UNSENT, ABANDONED -> false;
    };
  }
}
