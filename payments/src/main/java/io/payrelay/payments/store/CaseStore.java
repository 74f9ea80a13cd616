package io.payrelay.payments.store;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.payrelay.payments.lifecycle.ExceptionKind;
import io.payrelay.payments.money.Money;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;

/** Exception cases for those who resolve them. Stateless, safe for any thread. */
public final class CaseStore {

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final TypeReference<Map<String, String>> EVIDENCE = new TypeReference<>() {};

  private static final String COLUMNS =
      """
      SELECT exception_case_id, business_key, kind, payment_id, provider, provider_transaction_id,
        expected_amount_minor, expected_currency, observed_amount_minor, observed_currency, trace_id,
        evidence::text AS evidence, event_at, opened_at, resolved_at, resolved_by, resolution
      FROM payrelay.exception_case
      """;

  /**
   * Which cases.
   *
   * @param resolvedToo not the open ones only
   */
  public record Filter(
      @Nullable ExceptionKind kind,
      @Nullable String provider,
      @Nullable String paymentId,
      boolean resolvedToo,
      int limit) {}

  /** The newest first. */
  public List<StoredCase> list(Handle tx, Filter filter) {
    return tx.createQuery(
            COLUMNS
                + """
                WHERE (:all OR status = 'OPEN')
                  AND (:kind::text IS NULL OR kind = :kind)
                  AND (:provider::text IS NULL OR provider = :provider)
                  AND (:payment_id::text IS NULL OR payment_id = :payment_id)
                ORDER BY opened_at DESC, exception_case_id DESC LIMIT :limit
                """)
        .bind("all", filter.resolvedToo())
        .bind("kind", filter.kind() == null ? null : filter.kind().name())
        .bind("provider", filter.provider())
        .bind("payment_id", filter.paymentId())
        .bind("limit", filter.limit())
        .map((row, context) -> read(row))
        .list();
  }

  /** How many are open. */
  public long openCount(Handle tx) {
    return tx.createQuery("SELECT count(*) FROM payrelay.exception_case WHERE status = 'OPEN'")
        .mapTo(Long.class)
        .one();
  }

  /** The case, unlocked. */
  public Optional<StoredCase> find(Handle tx, long id) {
    return tx.createQuery(COLUMNS + "WHERE exception_case_id = :id")
        .bind("id", id)
        .map((row, context) -> read(row))
        .findOne();
  }

  /** Locks the case; whoever locks its payment too does that first, as all who open cases do. */
  Optional<StoredCase> lock(Handle tx, long id) {
    return tx.createQuery(COLUMNS + "WHERE exception_case_id = :id FOR UPDATE")
        .bind("id", id)
        .map((row, context) -> read(row))
        .findOne();
  }

  /** Ids of the payment's open cases. */
  List<Long> openOf(Handle tx, String paymentId) {
    return tx.createQuery(
            """
            SELECT exception_case_id FROM payrelay.exception_case
            WHERE payment_id = :payment_id AND status = 'OPEN' ORDER BY exception_case_id
            """)
        .bind("payment_id", paymentId)
        .mapTo(Long.class)
        .list();
  }

  /** Resolves an open case. */
  void resolve(Handle tx, long id, String by, String resolution) {
    int count =
        tx.createUpdate(
                """
                UPDATE payrelay.exception_case
                SET status = 'RESOLVED', resolved_at = clock_timestamp(), resolved_by = :by,
                  resolution = :resolution
                WHERE exception_case_id = :id AND status = 'OPEN'
                """)
            .bind("id", id)
            .bind("by", by)
            .bind("resolution", resolution)
            .execute();
    if (count != 1) {
      throw new IllegalStateException("a locked exception case is not open any more");
    }
  }

  /**
   * Resolves the open cases about money of one provider transaction that came without a payment.
   *
   * @return their ids
   */
  List<Long> resolveUnmatched(
      Handle tx, String provider, String transactionId, String by, String resolution) {
    return tx.createQuery(
            """
            UPDATE payrelay.exception_case
            SET status = 'RESOLVED', resolved_at = clock_timestamp(), resolved_by = :by,
              resolution = :resolution
            WHERE kind = 'UNMATCHED_PROVIDER_PAYMENT' AND status = 'OPEN' AND provider = :provider
              AND provider_transaction_id = :transaction_id
            RETURNING exception_case_id
            """)
        .bind("provider", provider)
        .bind("transaction_id", transactionId)
        .bind("by", by)
        .bind("resolution", resolution)
        .mapTo(Long.class)
        .list();
  }

  /**
   * Resolves the open cases that said that a webhook event could not be applied: it was.
   *
   * @return their ids
   */
  public List<Long> resolveOfEvent(
      Handle tx, String provider, String eventId, String by, String resolution) {
    return tx.createQuery(
            """
            UPDATE payrelay.exception_case
            SET status = 'RESOLVED', resolved_at = clock_timestamp(), resolved_by = :by,
              resolution = :resolution
            WHERE kind IN ('WEBHOOK_FAILED', 'UNMATCHED_PROVIDER_PAYMENT') AND status = 'OPEN'
              AND provider = :provider AND evidence ->> 'event_id' = :event_id
            RETURNING exception_case_id
            """)
        .bind("provider", provider)
        .bind("event_id", eventId)
        .bind("by", by)
        .bind("resolution", resolution)
        .mapTo(Long.class)
        .list();
  }

  private static StoredCase read(ResultSet row) throws SQLException {
    return new StoredCase(
        row.getLong("exception_case_id"),
        row.getString("business_key"),
        ExceptionKind.valueOf(row.getString("kind")),
        row.getString("payment_id"),
        row.getString("provider"),
        row.getString("provider_transaction_id"),
        money(row, "expected"),
        money(row, "observed"),
        row.getString("trace_id"),
        evidence(row.getString("evidence")),
        at(row, "event_at"),
        at(row, "opened_at"),
        row.getObject("resolved_at") == null ? null : at(row, "resolved_at"),
        row.getString("resolved_by"),
        row.getString("resolution"));
  }

  private static Instant at(ResultSet row, String column) throws SQLException {
    return row.getObject(column, OffsetDateTime.class).toInstant();
  }

  private static @Nullable Money money(ResultSet row, String which) throws SQLException {
    String currency = row.getString(which + "_currency");
    return currency == null ? null : new Money(row.getLong(which + "_amount_minor"), currency);
  }

  private static Map<String, String> evidence(String json) {
    try {
      return JSON.readValue(json, EVIDENCE);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("evidence is a map of texts", e);
    }
  }
}
