package io.payrelay.payments.store;

import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.payments.lifecycle.PaymentStatus;
import io.payrelay.payments.money.Money;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.jdbi.v3.core.Handle;

/** Payment rows. Stateless, safe for any thread. */
public final class PaymentStore {

  private static final String COLUMNS =
      """
      payment_id, merchant, merchant_order_id, provider, amount_minor, currency, payee_account,
      customer_id, business_refs::text AS business_refs, provider_data::text AS provider_data, trace_id,
      status, version, provider_transaction_id, failure_code, created_at
      """;

  /** The payment, as it is now and unlocked. */
  public Optional<Payment> find(Handle tx, String paymentId) {
    return tx.createQuery("SELECT " + COLUMNS + " FROM payrelay.payment WHERE payment_id = :id")
        .bind("id", paymentId)
        .map((row, context) -> read(row))
        .findOne();
  }

  /** The payments that exist, as they are now and unlocked. */
  public Map<String, Payment> findAll(Handle tx, Collection<String> paymentIds) {
    Map<String, Payment> payments = new LinkedHashMap<>();
    if (!paymentIds.isEmpty()) {
      tx.createQuery("SELECT " + COLUMNS + " FROM payrelay.payment WHERE payment_id = ANY (:ids)")
          .bindArray("ids", String.class, new TreeSet<>(paymentIds))
          .map((row, context) -> read(row))
          .forEach(payment -> payments.put(payment.paymentId(), payment));
    }
    return payments;
  }

  /**
   * Locks the payments until the transaction ends, in id order so that two batches cannot wait for
   * each other, and returns those that exist.
   */
  public Map<String, Payment> lock(Handle tx, Collection<String> paymentIds) {
    Map<String, Payment> payments = new LinkedHashMap<>();
    if (paymentIds.isEmpty()) {
      return payments;
    }
    tx.createQuery(
            "SELECT "
                + COLUMNS
                + " FROM payrelay.payment WHERE payment_id = ANY (:ids) ORDER BY payment_id FOR UPDATE")
        .bindArray("ids", String.class, new TreeSet<>(paymentIds))
        .map((row, context) -> read(row))
        .forEach(payment -> payments.put(payment.paymentId(), payment));
    return payments;
  }

  /**
   * Locks those of the payments that nobody else has locked, and waits for none.
   *
   * @return ids of the payments that exist and that somebody else holds
   */
  public Set<String> lockedByOthers(Handle tx, Collection<String> paymentIds) {
    return heldByOthers(tx, paymentIds, "FOR UPDATE");
  }

  /**
   * Locks those of the payments to which rows can be added now, so that nobody stops it later; an
   * upstream that asks for a refund of them does not. Waits for none.
   *
   * @return ids of the payments that exist and whose holder lets no row refer to them
   */
  public Set<String> lockedAgainstReferences(Handle tx, Collection<String> paymentIds) {
    return heldByOthers(tx, paymentIds, "FOR KEY SHARE");
  }

  private static Set<String> heldByOthers(
      Handle tx, Collection<String> paymentIds, String strength) {
    if (paymentIds.isEmpty()) {
      return Set.of();
    }
    return new HashSet<>(
        tx.createQuery(
                """
                WITH ours AS MATERIALIZED (SELECT payment_id FROM payrelay.payment
                  WHERE payment_id = ANY (:ids) ORDER BY payment_id %s SKIP LOCKED)
                SELECT payment_id FROM payrelay.payment
                WHERE payment_id = ANY (:ids) AND payment_id NOT IN (SELECT payment_id FROM ours)
                """
                    .formatted(strength))
            .bindArray("ids", String.class, new TreeSet<>(paymentIds))
            .mapTo(String.class)
            .list());
  }

  /**
   * Ids of payments without an end that were made longer ago than that and have no operation,
   * oldest first: their event never came, or what we knew of the charge is lost. Those that
   * somebody holds are passed by: however many there are, they keep nobody else waiting.
   */
  public List<String> withoutOperation(Handle tx, Duration olderThan, int limit) {
    return tx.createQuery(
            """
            SELECT p.payment_id FROM payrelay.payment p
            WHERE p.status IN ('CREATED', 'PENDING', 'UNKNOWN') AND p.created_at < clock_timestamp() - :age::interval
              AND NOT EXISTS (SELECT FROM payrelay.operation o WHERE o.payment_id = p.payment_id AND o.kind = 'CHARGE')
              AND NOT EXISTS (SELECT FROM payrelay.exception_case e
                WHERE e.payment_id = p.payment_id AND e.status = 'OPEN')
            ORDER BY p.created_at LIMIT :limit FOR KEY SHARE OF p SKIP LOCKED
            """)
        .bind("age", olderThan.toMillis() + " milliseconds")
        .bind("limit", limit)
        .mapTo(String.class)
        .list();
  }

  private static Payment read(ResultSet row) throws SQLException {
    return new Payment(
        row.getString("payment_id"),
        row.getString("merchant"),
        row.getString("merchant_order_id"),
        row.getString("provider"),
        new Money(row.getLong("amount_minor"), row.getString("currency")),
        row.getString("payee_account"),
        row.getString("customer_id"),
        row.getString("business_refs"),
        row.getString("provider_data"),
        row.getString("trace_id"),
        PaymentStatus.valueOf(row.getString("status")),
        row.getLong("version"),
        row.getString("provider_transaction_id"),
        row.getString("failure_code"),
        row.getObject("created_at", OffsetDateTime.class).toInstant());
  }
}
