package io.payrelay.payments.lifecycle;

/** What was seen. */
public enum Observation {
  PENDING,
  SUCCEEDED,
  FAILED,
  /**
   * A webhook's word that it failed, of a provider that can be asked. A hint: webhooks overtake
   * each other, and FAILED is final, so the provider's own answer decides.
   */
  FAILURE_REPORTED,
  /** Sent, and no answer that says anything. */
  UNKNOWN,
  /** The adapter refused it before any call; nothing was sent. */
  REFUSED,
  /** The triggering event names other terms than the row; nothing was sent. */
  PAYLOAD_DIFFERS,
  /** The provider says that our key came with other parameters: a bug of ours. */
  KEY_REFUSED,
  /** The time for finding out by itself is over. */
  UNRESOLVED,
  DISPUTED,
  DISPUTE_WON,
  DISPUTE_LOST,
  /** A refund that was not asked for through us. */
  PROVIDER_REFUND
}
