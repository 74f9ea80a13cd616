package io.payrelay.simulator;

/** What becomes of a refund that is executed. */
enum RefundOutcome {
  SUCCEEDED,
  FAILED,
  PENDING_THEN_SUCCEEDED,
  PENDING_THEN_FAILED,
  SUCCEEDED_THEN_FAILED;

  static RefundOutcome of(Fault fault, RefundOutcome otherwise) {
    return switch (fault) {
      case DECLINE -> FAILED;
      case PENDING -> PENDING_THEN_SUCCEEDED;
      case PENDING_THEN_FAILED -> PENDING_THEN_FAILED;
      case SUCCEEDED_THEN_FAILED -> SUCCEEDED_THEN_FAILED;
      default -> otherwise;
    };
  }

  RefundStatus first() {
    return switch (this) {
      case SUCCEEDED, SUCCEEDED_THEN_FAILED -> RefundStatus.SUCCEEDED;
      case FAILED -> RefundStatus.FAILED;
      case PENDING_THEN_SUCCEEDED, PENDING_THEN_FAILED -> RefundStatus.PENDING;
    };
  }

  /** What it comes to in the end; the same where nothing more happens. */
  RefundStatus last() {
    return switch (this) {
      case SUCCEEDED, PENDING_THEN_SUCCEEDED -> RefundStatus.SUCCEEDED;
      case FAILED, PENDING_THEN_FAILED, SUCCEEDED_THEN_FAILED -> RefundStatus.FAILED;
    };
  }
}
