package io.payrelay.payments.ledger;

/** The business event that a posting books. */
public enum PostingKind {
  CAPTURE,
  SUSPENSE_CAPTURE,
  DISPUTE,
  DISPUTE_WON,
  DISPUTE_LOST,
  PROVIDER_REFUND,
  ADJUSTMENT
}
