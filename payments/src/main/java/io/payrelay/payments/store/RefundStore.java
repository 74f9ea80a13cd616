package io.payrelay.payments.store;

import io.payrelay.payments.lifecycle.Refund;
import io.payrelay.payments.lifecycle.RefundStatus;
import io.payrelay.payments.money.Money;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import org.jdbi.v3.core.Handle;

/** Refund rows. Stateless, safe for any thread. */
public final class RefundStore {

  private static final String COLUMNS =
      """
      r.refund_id, r.payment_id, r.provider, r.provider_transaction_id, r.amount_minor, r.currency, r.reason,
      r.trace_id, r.status, r.version, r.provider_refund_id, r.failure_code, r.created_at
      """;

  /** The refund, as it is now and unlocked. */
  public Optional<Refund> find(Handle tx, String refundId) {
    return Optional.ofNullable(findAll(tx, List.of(refundId)).get(refundId));
  }

  /** The refunds that exist, as they are now and unlocked. */
  public Map<String, Refund> findAll(Handle tx, Collection<String> refundIds) {
    Map<String, Refund> refunds = new LinkedHashMap<>();
    if (!refundIds.isEmpty()) {
      tx.createQuery("SELECT " + COLUMNS + " FROM payrelay.refund r WHERE refund_id = ANY (:ids)")
          .bindArray("ids", String.class, new TreeSet<>(refundIds))
          .map((row, context) -> read(row))
          .forEach(refund -> refunds.put(refund.refundId(), refund));
    }
    return refunds;
  }

  /** The refunds that those operations are about; operations of charges are left out. */
  public Map<Long, Refund> ofOperations(Handle tx, Collection<Long> operationIds) {
    Map<Long, Refund> refunds = new HashMap<>();
    if (!operationIds.isEmpty()) {
      tx.createQuery(
              "SELECT o.operation_id, "
                  + COLUMNS
                  + """
                     FROM payrelay.operation o JOIN payrelay.refund r ON r.refund_id = o.refund_id
                    WHERE o.operation_id = ANY (:ids)
                    """)
          .bindArray("ids", Long.class, operationIds)
          .map((row, context) -> Map.entry(row.getLong("operation_id"), read(row)))
          .forEach(entry -> refunds.put(entry.getKey(), entry.getValue()));
    }
    return refunds;
  }

  /** How much was captured by the transaction that the refund gives back. */
  public long capturedMinor(Handle tx, Refund refund) {
    return tx.createQuery(
            """
            SELECT captured_minor FROM payrelay.refundable(:payment_id)
            WHERE provider = :provider AND provider_transaction_id = :transaction_id
            """)
        .bind("payment_id", refund.paymentId())
        .bind("provider", refund.provider())
        .bind("transaction_id", refund.providerTransactionId())
        .mapTo(Long.class)
        .one();
  }

  /**
   * Ids of refunds without an end that were made longer ago than that and have no operation, oldest
   * first: their event never came, or what we knew of the call is lost. One about which a case is
   * open is a person's. Those whose payment somebody holds are passed by.
   */
  public List<String> withoutOperation(Handle tx, Duration olderThan, int limit) {
    return tx.createQuery(
            """
            SELECT r.refund_id FROM payrelay.refund r JOIN payrelay.payment p ON p.payment_id = r.payment_id
            WHERE r.status IN ('REQUESTED', 'PENDING', 'UNKNOWN') AND r.created_at < clock_timestamp() - :age::interval
              AND NOT EXISTS (SELECT FROM payrelay.operation o WHERE o.refund_id = r.refund_id)
              AND NOT EXISTS (SELECT FROM payrelay.exception_case e
                WHERE e.payment_id = r.payment_id AND e.status = 'OPEN' AND e.evidence ->> 'refund_id' = r.refund_id)
            ORDER BY r.created_at LIMIT :limit FOR KEY SHARE OF p SKIP LOCKED
            """)
        .bind("age", olderThan.toMillis() + " milliseconds")
        .bind("limit", limit)
        .mapTo(String.class)
        .list();
  }

  /**
   * Locks the refunds until the transaction ends, in id order. Their payments are to be locked
   * before: whoever asks for another refund of them waits there.
   */
  Map<String, Refund> lock(
      Handle tx, Collection<String> refundIds, Collection<String> lockedPaymentIds) {
    Map<String, Refund> refunds = new LinkedHashMap<>();
    if (refundIds.isEmpty()) {
      return refunds;
    }
    tx.createQuery(
            "SELECT "
                + COLUMNS
                + """
                   FROM payrelay.refund r
                  WHERE r.refund_id = ANY (:ids) AND r.payment_id = ANY (:payment_ids)
                  ORDER BY r.refund_id FOR UPDATE
                  """)
        .bindArray("ids", String.class, new TreeSet<>(refundIds))
        .bindArray("payment_ids", String.class, lockedPaymentIds)
        .map((row, context) -> read(row))
        .forEach(refund -> refunds.put(refund.refundId(), refund));
    return refunds;
  }

  private static Refund read(ResultSet row) throws SQLException {
    return new Refund(
        row.getString("refund_id"),
        row.getString("payment_id"),
        row.getString("provider"),
        row.getString("provider_transaction_id"),
        new Money(row.getLong("amount_minor"), row.getString("currency")),
        row.getString("reason"),
        row.getString("trace_id"),
        RefundStatus.valueOf(row.getString("status")),
        row.getLong("version"),
        row.getString("provider_refund_id"),
        row.getString("failure_code"),
        row.getObject("created_at", OffsetDateTime.class).toInstant());
  }
}
