package io.payrelay.payments.lifecycle;

/** Who saw it. */
public enum FactSource {
  /** The provider's answer to our call. */
  RESPONSE,
  /** The provider's answer to our question. */
  QUERY,
  /** The provider's own message. */
  WEBHOOK,
  /** The provider's settlement file. */
  SETTLEMENT,
  /** A person. */
  OPERATOR,
  /** Payrelay itself: what it refused, or what it gave up on. */
  WORKER
}
