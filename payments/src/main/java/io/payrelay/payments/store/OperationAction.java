package io.payrelay.payments.store;

/** What is done with the provider next under an operation. */
public enum OperationAction {
  /** Send the operation's bytes under its key. */
  CALL,
  /** Ask what became of it. */
  QUERY,
  /** Cancel what can still be paid. */
  CANCEL
}
