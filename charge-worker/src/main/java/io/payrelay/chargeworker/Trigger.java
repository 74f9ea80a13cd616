package io.payrelay.chargeworker;

import org.jspecify.annotations.Nullable;

/**
 * A reason to look at a payment, or at a refund of it. Immutable.
 *
 * @param terms what the event names; null where there was no event
 * @param refund the refund that it is about; null where it is about the payment's charge
 */
record Trigger(String paymentId, @Nullable Terms terms, @Nullable RefundTrigger refund) {

  Trigger(String paymentId, @Nullable Terms terms) {
    this(paymentId, terms, null);
  }

  /** What an event says was asked for: to be compared with the row, never to be charged. */
  record Terms(String provider, long amountMinor, String currency) {}
}
