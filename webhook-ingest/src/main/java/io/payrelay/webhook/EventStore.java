package io.payrelay.webhook;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.payrelay.providers.WebhookRequest;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;

/** Rows of provider_event. Stateless, safe for any thread. */
final class EventStore {

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final TypeReference<Map<String, String>> HEADERS = new TypeReference<>() {};

  private static final String STORED =
      """
      SELECT provider, event_id, body, headers::text AS headers, received_at, disposition, match_count,
        (extract(epoch FROM clock_timestamp() - received_at) * 1000)::bigint AS age_ms
      FROM payrelay.provider_event
      """;

  /** What tells a repeated delivery from a contradicting one. */
  record Known(byte[] businessDigest, Disposition disposition, @Nullable String paymentId) {}

  /** A row to be written. */
  record NewEvent(
      String provider,
      String eventId,
      String eventType,
      byte[] body,
      byte[] bodyDigest,
      byte[] businessDigest,
      Map<String, String> headers,
      String keyId,
      @Nullable String paymentId) {}

  /** How many events wait, and for how long the oldest has. */
  record Parked(long count, Duration oldestAge) {}

  /**
   * Looks the event up, and bounds every later statement of this transaction in the same round
   * trip: somebody's lock on a payment must not hold the connections of the pool.
   */
  Optional<Known> known(Handle tx, String provider, String eventId, Duration statementTimeout) {
    return tx.createQuery(
            """
            SELECT e.business_digest, e.disposition, e.payment_id, bound.set_config
            FROM (SELECT set_config('statement_timeout', :timeout, true)) bound
            LEFT JOIN payrelay.provider_event e ON e.provider = :provider AND e.event_id = :event_id
            """)
        .bind("provider", provider)
        .bind("event_id", eventId)
        .bind("timeout", Long.toString(statementTimeout.toMillis()))
        .map(
            (row, context) ->
                row.getBytes(1) == null
                    ? Optional.<Known>empty()
                    : Optional.of(
                        new Known(
                            row.getBytes(1),
                            Disposition.valueOf(row.getString(2)),
                            row.getString(3))))
        .one();
  }

  /** Returns false where another transaction wrote this event in the same moment. */
  boolean insert(Handle tx, NewEvent event, Applier.Applied applied, Duration matchDelay) {
    return tx.createUpdate(
                """
                INSERT INTO payrelay.provider_event (provider, event_id, event_type, body, body_digest,
                  business_digest, headers, key_id, payment_id, disposition, disposition_reason, next_match_at)
                VALUES (:provider, :event_id, :event_type, :body, :body_digest, :business_digest,
                  :headers::jsonb, :key_id, :payment_id, :disposition, :reason,
                  CASE WHEN :disposition = 'PARKED' THEN clock_timestamp() + :match_delay::interval END)
                ON CONFLICT (provider, event_id) DO NOTHING
                """)
            .bind("provider", event.provider())
            .bind("event_id", event.eventId())
            .bind("event_type", event.eventType())
            .bind("body", event.body())
            .bind("body_digest", event.bodyDigest())
            .bind("business_digest", event.businessDigest())
            .bind("headers", json(event.headers()))
            .bind("key_id", event.keyId())
            .bind("payment_id", applied.paymentId())
            .bind("disposition", applied.disposition().name())
            .bind("reason", applied.reason())
            .bind("match_delay", interval(matchDelay))
            .execute()
        == 1;
  }

  void countDelivery(Handle tx, String provider, String eventId) {
    tx.createUpdate(
            """
            UPDATE payrelay.provider_event SET delivery_count = delivery_count + 1
            WHERE provider = :provider AND event_id = :event_id
            """)
        .bind("provider", provider)
        .bind("event_id", eventId)
        .execute();
  }

  /** Locks one parked event that is due and that nobody else holds. */
  Optional<StoredEvent> lockDue(Handle tx) {
    return tx.createQuery(
            STORED
                + """
                WHERE disposition = 'PARKED' AND next_match_at <= clock_timestamp()
                ORDER BY next_match_at LIMIT 1 FOR UPDATE SKIP LOCKED
                """)
        .map((row, context) -> read(row))
        .findOne();
  }

  /** Empty too where its body was wiped: there is nothing left to apply. */
  Optional<StoredEvent> lock(Handle tx, String provider, String eventId) {
    return tx.createQuery(
            STORED
                + """
                WHERE provider = :provider AND event_id = :event_id AND wiped_at IS NULL FOR UPDATE
                """)
        .bind("provider", provider)
        .bind("event_id", eventId)
        .map((row, context) -> read(row))
        .findOne();
  }

  /** Writes what became of a locked event. */
  void dispose(Handle tx, StoredEvent event, Applier.Applied applied, Duration matchDelay) {
    int count =
        tx.createUpdate(
                """
                UPDATE payrelay.provider_event
                SET payment_id = coalesce(:payment_id, payment_id), disposition = :disposition,
                  disposition_reason = :reason, disposition_at = clock_timestamp(),
                  match_count = match_count + 1,
                  next_match_at = CASE WHEN :disposition = 'PARKED'
                    THEN clock_timestamp() + :match_delay::interval END
                WHERE provider = :provider AND event_id = :event_id
                """)
            .bind("payment_id", applied.paymentId())
            .bind("disposition", applied.disposition().name())
            .bind("reason", applied.reason())
            .bind("match_delay", interval(matchDelay))
            .bind("provider", event.provider())
            .bind("event_id", event.eventId())
            .execute();
    if (count != 1) {
      throw new IllegalStateException("a locked webhook event is gone");
    }
  }

  /** By provider; those of whom none waits are not there. */
  Map<String, Parked> parked(Handle tx) {
    Map<String, Parked> parked = new HashMap<>();
    tx.createQuery(
            """
            SELECT provider, count(*),
              coalesce(extract(epoch FROM clock_timestamp() - min(received_at)) * 1000, 0)::bigint
            FROM payrelay.provider_event WHERE disposition = 'PARKED' GROUP BY provider
            """)
        .map(
            (row, context) ->
                Map.entry(
                    row.getString(1),
                    new Parked(row.getLong(2), Duration.ofMillis(row.getLong(3)))))
        .forEach(entry -> parked.put(entry.getKey(), entry.getValue()));
    return parked;
  }

  /**
   * Has the waiting and the given-up events of a provider's payment looked at again: there is a
   * payment for them now. Those that name neither the payment nor the transaction are not found.
   *
   * @return their ids
   */
  List<String> makeDue(
      Handle tx, String provider, @Nullable String paymentId, String transactionId) {
    return tx.createQuery(
            """
            UPDATE payrelay.provider_event
            SET disposition = 'PARKED', disposition_reason = 'its payment was adopted',
              disposition_at = clock_timestamp(), next_match_at = clock_timestamp()
            WHERE provider = :provider AND disposition IN ('PARKED', 'UNMATCHED') AND wiped_at IS NULL
              AND (payment_id = :payment_id
                OR position(convert_to(:transaction_id, 'UTF8') IN body) > 0)
            RETURNING event_id
            """)
        .bind("provider", provider)
        .bind("payment_id", paymentId)
        .bind("transaction_id", transactionId)
        .mapTo(String.class)
        .list();
  }

  private static StoredEvent read(ResultSet row) throws SQLException {
    return new StoredEvent(
        row.getString("provider"),
        row.getString("event_id"),
        new WebhookRequest(headers(row.getString("headers")), row.getBytes("body")),
        row.getObject("received_at", OffsetDateTime.class).toInstant(),
        Duration.ofMillis(row.getLong("age_ms")),
        Disposition.valueOf(row.getString("disposition")),
        row.getInt("match_count"));
  }

  private static String interval(Duration duration) {
    return duration.toMillis() + " milliseconds";
  }

  private static String json(Map<String, String> headers) {
    try {
      return JSON.writeValueAsString(headers);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("a map of texts is JSON", e);
    }
  }

  private static Map<String, String> headers(String json) {
    try {
      return JSON.readValue(json, HEADERS);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("kept headers are a map of texts", e);
    }
  }
}
