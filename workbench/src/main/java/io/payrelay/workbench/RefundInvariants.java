package io.payrelay.workbench;

import io.payrelay.simulator.ProviderSimulator;
import io.payrelay.simulator.SimulatedRefund;
import io.payrelay.simulator.SimulatorStats;
import io.payrelay.simulator.WebhookFault;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Collectors;
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

    String money() {
      return amountMinor + currency;
    }

    boolean is(SimulatedRefund made) {
      return made.id().equals(providerRefundId)
          && made.amountMinor() == amountMinor
          && made.currency().equals(currency);
    }
  }

  /**
   * What the provider says.
   *
   * @param cameBack ids of refunds whose money had come back before our tables were read
   * @param untold webhooks that nobody got, or that were still on their way then: each may have
   *     told of one of these
   * @param refunds its ledger, asked after our tables
   */
  record AtProvider(Set<String> cameBack, long untold, Supplier<List<SimulatedRefund>> refunds) {

    /** To be asked before the tables are read, when nothing moves any more. */
    static AtProvider of(ProviderSimulator provider) {
      Set<String> cameBack =
          provider.refunds().stream()
              .filter(refund -> refund.everSucceeded() && !refund.moneyReturned())
              .map(SimulatedRefund::id)
              .collect(Collectors.toSet());
      // After the list: what was delivered by now is in the tables.
      SimulatorStats stats = provider.stats();
      long untold =
          stats.webhookFaults().getOrDefault(WebhookFault.LOST, 0L)
              + stats.webhooksGivenUp()
              + stats.webhooksWithoutTarget()
              + stats.webhooksOnTheirWay();
      return new AtProvider(cameBack, untold, provider::refunds);
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
   * @param handle in a transaction that sees one state of all tables
   */
  static RefundCounts check(Handle handle, AtProvider atProvider, StatusTopic topic) {
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
  static Compared compare(Handle handle, AtProvider atProvider) {
    Map<String, Row> ours = rows(handle);
    BookedMoney booked = BookedMoney.of(handle, "REFUND,PROVIDER_REFUND");
    BookedMoney takenBack = BookedMoney.of(handle, "REFUND_RETURNED");
    Map<String, SimulatedRefund> made = new HashMap<>();
    long doubled = 0;
    long differences = 0;
    for (SimulatedRefund refund : atProvider.refunds().get()) {
      if (refund.everSucceeded() && !endedUnseen(refund, ours, booked)) {
        doubled += made.putIfAbsent(refund.merchantRefundId(), refund) == null ? 0 : 1;
        differences += booked.settle(refund.id(), refund.amountMinor() + refund.currency());
      }
    }
    differences += booked.left();
    long unseen = 0;
    for (Row row : ours.values()) {
      String id = row.providerRefundId();
      boolean reversed = id != null && takenBack.has(id);
      differences += agrees(row, made.remove(row.id()), reversed) ? 0 : 1;
      if (id != null && reversed) {
        long off = takenBack.settle(id, row.money());
        // Of any other it is wrong that money came back at all: counted as that.
        differences += row.status().equals("RETURNED") ? off : 0;
      }
      if (id != null && row.status().equals("SUCCEEDED") && atProvider.cameBack().contains(id)) {
        unseen++;
      }
    }
    differences += takenBack.left() + made.size();
    return new Compared(doubled, differences + Math.max(0, unseen - atProvider.untold()));
  }

  private static Map<String, Row> rows(Handle handle) {
    Map<String, Row> rows = new HashMap<>();
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
        .forEach(row -> rows.put(row.id(), row));
    return rows;
  }

  /**
   * It came back before anybody here had learnt that it had succeeded: FAILED is the truth then.
   */
  private static boolean endedUnseen(
      SimulatedRefund refund, Map<String, Row> ours, BookedMoney booked) {
    Row row = ours.get(refund.merchantRefundId());
    return row != null
        && row.status().equals("FAILED")
        && !refund.moneyReturned()
        && !booked.has(refund.id());
  }

  /**
   * Whether row and provider say the same. That money came back the provider tells once, by a
   * webhook, which may get lost: as often as that SUCCEEDED is not wrong, and it is counted apart.
   *
   * @param reversed whether our ledger shows that the money came back
   */
  private static boolean agrees(Row row, @Nullable SimulatedRefund made, boolean reversed) {
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

  /** Cases beside those that a refund is RETURNED. */
  static long otherCases(Handle handle) {
    return count(
        handle,
        """
        SELECT count(*) FROM payrelay.exception_case c
        WHERE c.kind <> 'REFUND_RETURNED' OR NOT EXISTS (SELECT FROM payrelay.refund r
          WHERE r.refund_id = c.evidence ->> 'refund_id' AND r.status = 'RETURNED')
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
