package io.payrelay.chargeworker;

import org.jspecify.annotations.Nullable;

/**
 * A reason to look at a payment. Immutable.
 *
 * @param terms what the event names; null where there was no event
 */
record Trigger(String paymentId, @Nullable Terms terms) {

  /** What an event says was asked for: to be compared with the row, never to be charged. */
  record Terms(String provider, long amountMinor, String currency) {}
}
