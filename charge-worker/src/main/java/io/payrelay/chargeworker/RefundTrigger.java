package io.payrelay.chargeworker;

import org.jspecify.annotations.Nullable;

/**
 * A reason to look at a refund. Immutable.
 *
 * @param terms what the event names; null where there was no event
 */
record RefundTrigger(String refundId, @Nullable Terms terms) {

  /**
   * What an event says was asked for: to be compared with the row, never to be given back. Whoever
   * inserts the row himself may not know where the money is.
   */
  record Terms(
      String paymentId,
      @Nullable String provider,
      @Nullable String providerTransactionId,
      long amountMinor,
      String currency) {}
}
