package io.payrelay.workbench;

/** By what, beside the answers to its calls, Payrelay learns how charges ended. */
enum LearnBy {
  BOTH,
  /** Charges are not looked up. */
  WEBHOOKS,
  /** No webhook is sent. */
  QUERIES
}
