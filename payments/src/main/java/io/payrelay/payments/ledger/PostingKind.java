package io.payrelay.payments.ledger;

/** The business event that a posting books. */
public enum PostingKind {
  CAPTURE,
  SUSPENSE_CAPTURE,
  DISPUTE,
  DISPUTE_WON,
  DISPUTE_LOST,
  /** Money that the provider gave back without being asked by us, or otherwise than we asked. */
  PROVIDER_REFUND,
  /** Money that we asked the provider to give back. */
  REFUND,
  /** What was given back and came back: the refund failed after all. */
  REFUND_RETURNED,
  ADJUSTMENT
}
