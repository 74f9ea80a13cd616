package io.payrelay.payments.ledger;

/** What an account stands for; each provider and currency has one of each kind. */
public enum AccountKind {
  /** What the provider owes us. */
  PROVIDER_RECEIVABLE,
  /** What customers paid for. */
  CUSTOMER_PAYMENTS,
  /** What went back to customers. */
  REFUNDS,
  /** What the provider kept for its work. */
  FEES,
  /** Money that is there although no payment explains it: a person must. */
  SUSPENSE,
  /** What arrived at our bank. */
  BANK
}
