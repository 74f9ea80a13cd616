package io.payrelay.workbench;

import io.payrelay.simulator.SimulatedRefund;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;

/** The part of {@link Invariants} that is about refunds. Stateless. */
final class RefundInvariants {

  private RefundInvariants() {}

  private record Row(
      String id,
      String status,
      @Nullable String providerRefundId,
      long amountMinor,
      String currency) {

    boolean is(SimulatedRefund made) {
      return made.id().equals(providerRefundId)
          && made.amountMinor() == amountMinor
          && made.currency().equals(currency);
    }
  }

  /** What {@link RefundCounts} calls double refunds and differences. */
  record Compared(long doubled, long differences) {}

  private record Change(String refundId, long version) {}

  static long unresolved(Handle handle) {
    return count(
        handle,
        """
        SELECT count(*) FROM payrelay.refund WHERE status NOT IN ('SUCCEEDED', 'FAILED', 'RETURNED')
        """);
  }

  static long missing(Handle handle, StatusTopic topic) {
    return handle
        .createQuery(
            "SELECT refund_id, version FROM payrelay.refund_event WHERE version IS NOT NULL AND version > 1")
        .map((row, context) -> new Change(row.getString(1), row.getLong(2)))
        .stream()
        .filter(change -> topic.count(change.refundId(), change.version()) == 0)
        .count();
  }

  /**
   * Counts everything.
   *
   * @param atProvider asked after the database: what came back since is then no difference
   */
  static RefundCounts check(
      Handle handle, Supplier<List<SimulatedRefund>> atProvider, StatusTopic topic) {
    Compared compared = compare(handle, atProvider);
    return new RefundCounts(
        count(handle, "SELECT count(*) FROM payrelay.refund"),
        withStatus(handle, "SUCCEEDED"),
        withStatus(handle, "FAILED"),
        withStatus(handle, "RETURNED"),
        topic.events(),
        unresolved(handle),
        beyondCaptured(handle),
        compared.doubled(),
        compared.differences(),
        returnedWithoutCase(handle),
        missing(handle, topic),
        topic.duplicates(),
        topic.outOfOrder());
  }

  /** Row by row, against the provider's ledger and against ours. */
  static Compared compare(Handle handle, Supplier<List<SimulatedRefund>> atProvider) {
    Map<String, Row> ours = new HashMap<>();
    handle
        .createQuery(
            """
            SELECT refund_id, status, provider_refund_id, amount_minor, currency FROM payrelay.refund
            """)
        .map(
            (row, context) ->
                new Row(
                    row.getString(1),
                    row.getString(2),
                    row.getString(3),
                    row.getLong(4),
                    row.getString(5)))
        .forEach(row -> ours.put(row.id(), row));
    Map<String, String> booked = booked(handle);
    Set<String> takenBack = takenBack(handle);
    Map<String, SimulatedRefund> made = new HashMap<>();
    long doubled = 0;
    long differences = 0;
    for (SimulatedRefund refund : atProvider.get()) {
      if (refund.everSucceeded() && !endedUnseen(refund, ours, booked)) {
        doubled += made.putIfAbsent(refund.merchantRefundId(), refund) == null ? 0 : 1;
        String money = refund.amountMinor() + refund.currency();
        differences += money.equals(booked.remove(refund.id())) ? 0 : 1;
      }
    }
    differences += booked.size();
    for (Row row : ours.values()) {
      differences += agrees(row, made.remove(row.id()), takenBack) ? 0 : 1;
    }
    return new Compared(doubled, differences + made.size() + takenBack.size());
  }

  /**
   * It came back before anybody here had learnt that it had succeeded: FAILED is the truth then.
   */
  private static boolean endedUnseen(
      SimulatedRefund refund, Map<String, Row> ours, Map<String, String> booked) {
    Row row = ours.get(refund.merchantRefundId());
    return row != null
        && row.status().equals("FAILED")
        && !refund.moneyReturned()
        && !booked.containsKey(refund.id());
  }

  /**
   * Whether row and provider say the same. That money came back the provider tells once, by a
   * webhook, which may get lost: SUCCEEDED is not wrong then.
   */
  private static boolean agrees(Row row, @Nullable SimulatedRefund made, Set<String> takenBack) {
    boolean reversed = row.providerRefundId() != null && takenBack.remove(row.providerRefundId());
    return switch (row.status()) {
      case "SUCCEEDED" -> made != null && row.is(made) && !reversed;
      case "RETURNED" -> made != null && row.is(made) && !made.moneyReturned() && reversed;
      case "FAILED" -> made == null && !reversed;
      // Without an end: counted as that.
      default -> true;
    };
  }

  private static long withStatus(Handle handle, String status) {
    return handle
        .createQuery("SELECT count(*) FROM payrelay.refund WHERE status = :status")
        .bind("status", status)
        .mapTo(Long.class)
        .one();
  }

  /** Money that went back, by the provider's id of the refund. */
  private static Map<String, String> booked(Handle handle) {
    Map<String, String> booked = new HashMap<>();
    handle
        .createQuery(
            """
            SELECT p.business_key, e.amount_minor, e.currency
            FROM payrelay.ledger_posting p JOIN payrelay.ledger_entry e USING (posting_id)
            WHERE p.kind IN ('REFUND', 'PROVIDER_REFUND') AND e.side = 'DEBIT'
            """)
        .map(
            (row, context) ->
                Map.entry(lastPart(row.getString(1)), row.getLong(2) + row.getString(3)))
        .forEach(entry -> booked.put(entry.getKey(), entry.getValue()));
    return booked;
  }

  private static Set<String> takenBack(Handle handle) {
    return new HashSet<>(
        handle
            .createQuery(
                "SELECT business_key FROM payrelay.ledger_posting WHERE kind = 'REFUND_RETURNED'")
            .map((row, context) -> lastPart(row.getString(1)))
            .list());
  }

  private static String lastPart(String key) {
    return key.substring(key.lastIndexOf(':') + 1);
  }

  private static long beyondCaptured(Handle handle) {
    return count(
        handle,
        """
        SELECT count(*) FROM (
          SELECT payment_id, provider, provider_transaction_id, sum(amount_minor) AS minor
          FROM payrelay.refund WHERE status NOT IN ('FAILED', 'RETURNED') GROUP BY 1, 2, 3) given
        WHERE given.minor > (SELECT coalesce(sum(e.amount_minor), 0)
          FROM payrelay.ledger_posting p JOIN payrelay.ledger_entry e USING (posting_id)
          WHERE p.payment_id = given.payment_id AND p.kind IN ('CAPTURE', 'SUSPENSE_CAPTURE')
            AND e.side = 'DEBIT'
            AND p.business_key = 'capture:' || given.provider || ':' || given.provider_transaction_id)
        """);
  }

  private static long returnedWithoutCase(Handle handle) {
    return count(
        handle,
        """
        SELECT count(*) FROM payrelay.refund r WHERE r.status = 'RETURNED' AND NOT EXISTS (
          SELECT FROM payrelay.exception_case c
          WHERE c.kind = 'REFUND_RETURNED' AND c.evidence ->> 'refund_id' = r.refund_id)
        """);
  }

  private static long count(Handle handle, String sql) {
    return handle.createQuery(sql).mapTo(Long.class).one();
  }
}
