package io.payrelay.workbench;

import io.payrelay.simulator.SimulatedRefund;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jdbi.v3.core.Jdbi;

/**
 * Our refunds beside the provider's own. Immutable.
 *
 * @param count how many were asked for
 * @param twice ids under which the provider gave money back more than once
 * @param differences refunds that have no end, that ended otherwise than the provider's, or whose
 *     money the ledger does not show
 */
record RefundBooks(long count, long twice, long differences) {

  private record Row(String status, boolean booked) {}

  /**
   * Compares.
   *
   * @param twice as the provider counts
   */
  static RefundBooks of(Jdbi owner, List<SimulatedRefund> provider, long twice) {
    Map<String, Row> ours = new HashMap<>();
    owner.useHandle(
        handle ->
            handle
                .createQuery(
                    """
                    SELECT r.refund_id, r.status, EXISTS (SELECT FROM payrelay.ledger_posting p
                      WHERE p.kind = 'REFUND' AND p.business_key = 'provider_refund:' || r.provider || ':'
                        || r.provider_transaction_id || ':' || r.provider_refund_id)
                    FROM payrelay.refund r
                    """)
                .map(
                    (row, context) ->
                        Map.entry(row.getString(1), new Row(row.getString(2), row.getBoolean(3))))
                .forEach(entry -> ours.put(entry.getKey(), entry.getValue())));
    Map<String, Boolean> succeeded = new HashMap<>();
    provider.forEach(
        one -> succeeded.merge(one.merchantRefundId(), one.everSucceeded(), Boolean::logicalOr));
    long differences = succeeded.keySet().stream().filter(id -> !ours.containsKey(id)).count();
    for (Map.Entry<String, Row> one : ours.entrySet()) {
      if (differs(one.getValue(), succeeded.getOrDefault(one.getKey(), false))) {
        differences++;
      }
    }
    return new RefundBooks(ours.size(), twice, differences);
  }

  /**
   * One that came back later may be SUCCEEDED still: that is learnt from a webhook, if it comes.
   */
  private static boolean differs(Row ours, boolean everSucceeded) {
    return switch (ours.status()) {
      case "SUCCEEDED", "RETURNED" -> !everSucceeded || !ours.booked();
      // It may have failed at once and for good, or before anybody learnt that it had succeeded.
      case "FAILED" -> ours.booked();
      default -> true;
    };
  }
}
