package io.payrelay.webhook;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.payrelay.providers.WebhookRequest;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SortedMap;
import java.util.function.Function;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.argument.Argument;
import org.jspecify.annotations.Nullable;

/** Rows of provider_event. Stateless, safe for any thread. */
final class EventStore {

  private static final int FETCH = 50;

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final TypeReference<Map<String, String>> HEADERS = new TypeReference<>() {};

  private static final String STORED =
      """
      SELECT provider, event_id, body, headers::text AS headers, received_at, disposition,
        disposition_reason, match_count,
        (extract(epoch FROM clock_timestamp() - received_at) * 1000)::bigint AS age_ms
      FROM payrelay.provider_event
      """;

  /** Second bodies of one event that are kept: a few show a person what goes on. */
  private static final int CONFLICTING_MAX = 5;

  /** A lock that is held longer than this is waited for alone, not by a whole batch. */
  private static final Duration TOGETHER_LOCK_MAX = Duration.ofMillis(250);

  /** The identity of an event; sorted, so that two writers meet in one order. */
  record EventKey(String provider, String eventId) implements Comparable<EventKey> {

    private static final Comparator<EventKey> ORDER =
        Comparator.comparing(EventKey::provider).thenComparing(EventKey::eventId);

    @Override
    public int compareTo(EventKey other) {
      return ORDER.compare(this, other);
    }
  }

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
   * Looks the events up, and bounds every later statement of this transaction in the same round
   * trip: somebody's lock must not hold the connections of the pool.
   *
   * @param patient may wait for locks as long as a statement may take
   */
  Map<EventKey, Known> known(
      Handle tx, Collection<EventKey> keys, Duration statementTimeout, boolean patient) {
    Duration lockTimeout =
        patient || statementTimeout.compareTo(TOGETHER_LOCK_MAX) < 0
            ? statementTimeout
            : TOGETHER_LOCK_MAX;
    Map<EventKey, Known> known = new HashMap<>();
    tx.createQuery(
            """
            SELECT e.provider, e.event_id, e.business_digest, e.disposition, e.payment_id, bound.of_all, bound.of_locks
            FROM (SELECT set_config('statement_timeout', :timeout, true) AS of_all,
                set_config('lock_timeout', :lock_timeout, true) AS of_locks) bound
            LEFT JOIN (unnest(:providers, :event_ids) AS wanted (provider, event_id)
              JOIN payrelay.provider_event e USING (provider, event_id)) ON true
            """)
        .bindArray("providers", String.class, keys.stream().map(EventKey::provider).toList())
        .bindArray("event_ids", String.class, keys.stream().map(EventKey::eventId).toList())
        .bind("timeout", Long.toString(statementTimeout.toMillis()))
        .bind("lock_timeout", Long.toString(lockTimeout.toMillis()))
        .map(
            (row, context) -> {
              if (row.getString(1) != null) {
                known.put(
                    new EventKey(row.getString(1), row.getString(2)),
                    new Known(
                        row.getBytes(3), Disposition.valueOf(row.getString(4)), row.getString(5)));
              }
              return known.size();
            })
        .list();
    return known;
  }

  /**
   * Writes new events, in the order of their keys, in one statement.
   *
   * @return false where another transaction wrote one of them in the same moment
   */
  boolean insert(
      Handle tx,
      Map<EventKey, Delivery> deliveries,
      Map<EventKey, Applier.Applied> outcomes,
      Duration matchDelay) {
    if (deliveries.isEmpty()) {
      return true;
    }
    List<NewEvent> rows = deliveries.values().stream().map(Delivery::row).toList();
    List<Applier.Applied> applied =
        deliveries.keySet().stream().map(key -> Objects.requireNonNull(outcomes.get(key))).toList();
    return tx.createUpdate(
                """
                INSERT INTO payrelay.provider_event (provider, event_id, event_type, body, body_digest,
                  business_digest, headers, key_id, payment_id, disposition, disposition_reason, next_match_at)
                SELECT provider, event_id, event_type, body, body_digest, business_digest, headers::jsonb,
                  key_id, payment_id, disposition, reason,
                  CASE WHEN disposition = 'PARKED' THEN clock_timestamp() + :match_delay::interval END
                FROM unnest(:providers, :event_ids, :event_types, :bodies, :body_digests, :business_digests,
                    :headers, :key_ids, :payment_ids, :dispositions, :reasons)
                  AS new (provider, event_id, event_type, body, body_digest, business_digest, headers,
                    key_id, payment_id, disposition, reason)
                ON CONFLICT (provider, event_id) DO NOTHING
                """)
            .bind("providers", texts(rows, NewEvent::provider))
            .bind("event_ids", texts(rows, NewEvent::eventId))
            .bind("event_types", texts(rows, NewEvent::eventType))
            .bind("bodies", bytes(rows, NewEvent::body))
            .bind("body_digests", bytes(rows, NewEvent::bodyDigest))
            .bind("business_digests", bytes(rows, NewEvent::businessDigest))
            .bind("headers", texts(rows, row -> json(row.headers())))
            .bind("key_ids", texts(rows, NewEvent::keyId))
            .bind("payment_ids", texts(applied, Applier.Applied::paymentId))
            .bind("dispositions", texts(applied, one -> one.disposition().name()))
            .bind("reasons", texts(applied, Applier.Applied::reason))
            .bind("match_delay", interval(matchDelay))
            .execute()
        == rows.size();
  }

  /** Counts further deliveries of events, in the order of their keys. */
  void countDeliveries(Handle tx, SortedMap<EventKey, Integer> deliveries) {
    deliveries.forEach(
        (key, count) ->
            tx.createUpdate(
                    """
                    UPDATE payrelay.provider_event SET delivery_count = delivery_count + :count
                    WHERE provider = :provider AND event_id = :event_id
                    """)
                .bind("provider", key.provider())
                .bind("event_id", key.eventId())
                .bind("count", count)
                .execute());
  }

  /**
   * Keeps the body of a delivery that contradicts the first one of its event: once a meaning, and a
   * few of an event.
   *
   * @return whether it is kept
   */
  boolean keepConflicting(Handle tx, NewEvent event) {
    return tx.createQuery(
            """
            WITH there AS (SELECT business_digest FROM payrelay.provider_event_conflict
              WHERE provider = :provider AND event_id = :event_id),
            added AS (
              INSERT INTO payrelay.provider_event_conflict
                (provider, event_id, business_digest, body, headers, key_id)
              SELECT :provider, :event_id, :business_digest, :body, :headers::jsonb, :key_id
              WHERE (SELECT count(*) FROM there) < :max
              ON CONFLICT (provider, event_id, business_digest) DO NOTHING
              RETURNING business_digest)
            SELECT EXISTS (SELECT FROM added)
              OR EXISTS (SELECT FROM there WHERE business_digest = :business_digest)
            """)
        .bind("provider", event.provider())
        .bind("event_id", event.eventId())
        .bind("business_digest", event.businessDigest())
        .bind("body", event.body())
        .bind("headers", json(event.headers()))
        .bind("key_id", event.keyId())
        .bind("max", CONFLICTING_MAX)
        .mapTo(Boolean.class)
        .one();
  }

  /**
   * Locks one parked event that is due and that nobody else holds.
   *
   * @param providers whose events the caller can read; another ingest may read those of others
   * @param limit after twice that time nobody does
   */
  Optional<StoredEvent> lockDue(Handle tx, Collection<String> providers, Duration limit) {
    return tx.createQuery(
            STORED
                + """
                WHERE disposition = 'PARKED' AND next_match_at <= clock_timestamp()
                  AND (provider = ANY (:providers)
                    OR received_at < clock_timestamp() - 2 * :limit::interval - interval '1 minute')
                ORDER BY next_match_at LIMIT 1 FOR UPDATE SKIP LOCKED
                """)
        .bindArray("providers", String.class, providers)
        .bind("limit", interval(limit))
        .map((row, context) -> read(row))
        .findOne();
  }

  /** Puts a parked event off, where nobody is at work on it. */
  void later(Handle tx, StoredEvent event, Duration delay) {
    tx.createUpdate(
            """
            UPDATE payrelay.provider_event SET match_count = match_count + 1,
              next_match_at = clock_timestamp() + :delay::interval
            WHERE (provider, event_id) IN (SELECT provider, event_id FROM payrelay.provider_event
              WHERE provider = :provider AND event_id = :event_id AND disposition = 'PARKED'
              FOR UPDATE SKIP LOCKED)
            """)
        .bind("delay", interval(delay))
        .bind("provider", event.provider())
        .bind("event_id", event.eventId())
        .execute();
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

  /** Writes what became of a locked event; why it failed at first stays beside it. */
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
            .bind("reason", event.reasonBeside(applied.reason()))
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
    List<String> named =
        unsettled(tx, provider, paymentId, transactionId).stream()
            .map(StoredEvent::eventId)
            .toList();
    return tx.createQuery(
            """
            UPDATE payrelay.provider_event
            SET disposition = 'PARKED', match_count = 0,
              disposition_reason = 'its payment was adopted'
                || coalesce('; ' || substring(disposition_reason FROM 'at first: .*'), ''),
              disposition_at = clock_timestamp(), next_match_at = clock_timestamp()
            WHERE provider = :provider AND disposition IN ('PARKED', 'UNMATCHED') AND wiped_at IS NULL
              AND event_id = ANY (:event_ids)
            RETURNING event_id
            """)
        .bind("provider", provider)
        .bindArray("event_ids", String.class, named)
        .mapTo(String.class)
        .list();
  }

  /** Events that nobody has applied and that name a provider's payment, by its id or ours. */
  List<StoredEvent> unsettled(
      Handle tx, String provider, @Nullable String paymentId, String transactionId) {
    List<StoredEvent> named = new ArrayList<>();
    // Where there is an escape the bytes alone do not tell: those bodies are looked through here.
    tx.createQuery(
            STORED.replace(
                    "SELECT ",
                    """
                    SELECT coalesce(payment_id = :payment_id, false)
                      OR position(convert_to(:transaction_id, 'UTF8') IN body) > 0 AS named,
                    """)
                + """
                WHERE provider = :provider AND disposition IN ('PARKED', 'UNMATCHED', 'FAILED')
                  AND wiped_at IS NULL AND (payment_id = :payment_id
                    OR position(convert_to(:transaction_id, 'UTF8') IN body) > 0
                    OR position(decode('5c', 'hex') IN body) > 0)
                ORDER BY received_at, event_id
                """)
        .bind("provider", provider)
        .bind("payment_id", paymentId)
        .bind("transaction_id", transactionId)
        // There may be months of them, and few are kept.
        .setFetchSize(FETCH)
        .map((row, context) -> Map.entry(row.getBoolean("named"), read(row)))
        .forEach(
            found -> {
              StoredEvent event = found.getValue();
              if (found.getKey() || EscapedText.names(event.request().body(), transactionId)) {
                named.add(event);
              }
            });
    return named;
  }

  private static StoredEvent read(ResultSet row) throws SQLException {
    return new StoredEvent(
        row.getString("provider"),
        row.getString("event_id"),
        new WebhookRequest(headers(row.getString("headers")), row.getBytes("body")),
        row.getObject("received_at", OffsetDateTime.class).toInstant(),
        Duration.ofMillis(row.getLong("age_ms")),
        Disposition.valueOf(row.getString("disposition")),
        row.getString("disposition_reason"),
        row.getInt("match_count"));
  }

  private static <T> Argument texts(List<T> rows, Function<T, @Nullable String> column) {
    return array("text", rows.stream().map(column).toArray());
  }

  private static <T> Argument bytes(List<T> rows, Function<T, byte[]> column) {
    return array("bytea", rows.stream().map(column).toArray(byte[][]::new));
  }

  private static Argument array(String type, Object[] values) {
    return (position, statement, context) ->
        statement.setArray(position, context.getConnection().createArrayOf(type, values));
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
