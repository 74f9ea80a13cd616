package io.payrelay.simulator;

import java.util.Map;

/**
 * Counts since the start of the simulator. Immutable snapshot.
 *
 * @param chargeCalls valid calls of {@code POST /v1/charges}, refused and lost ones included
 * @param replays answers that came from a remembered key
 * @param idsChargedTwice merchant_transaction_ids with more than one charge that moved money: has
 *     to be 0
 * @param idsRefundedTwice merchant_refund_ids with more than one refund that moved money: has to be
 *     0
 * @param faults faults that took effect, by kind; those of special payment methods and scripts
 *     included
 * @param webhookEvents events that arose; one doubled under another id counts once
 * @param webhooksDelivered deliveries answered with 2xx; a doubled event counts twice
 */
public record SimulatorStats(
    long chargeCalls,
    long replays,
    long queries,
    long charges,
    long idsChargedTwice,
    Map<ChargeStatus, Long> chargesByStatus,
    Map<Fault, Long> faults,
    Map<QueryFault, Long> queryFaults,
    Map<WebhookFault, Long> webhookFaults,
    long webhookEvents,
    long webhooksDelivered,
    long webhooksLost,
    long webhookAttemptsFailed,
    long webhooksGivenUp,
    long webhooksWithoutTarget,
    long refundCalls,
    long refunds,
    long idsRefundedTwice) {

  /**
   * Deliveries that are still to be tried, with those that a fault delays; redelivered ones aside.
   */
  public long webhooksOnTheirWay() {
    return webhookEvents
        + webhookFaults.getOrDefault(WebhookFault.DOUBLED, 0L)
        + webhookFaults.getOrDefault(WebhookFault.DOUBLED_OTHER_ID, 0L)
        - webhookFaults.getOrDefault(WebhookFault.LOST, 0L)
        - webhooksDelivered
        - webhooksGivenUp
        - webhooksWithoutTarget;
  }
}
