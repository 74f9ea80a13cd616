package io.payrelay.app;

import io.payrelay.webhook.Disposition;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.Query;
import org.jspecify.annotations.Nullable;

/** Stored webhook events, read only. Stateless. */
final class WebhookRows {

  private static final String COLUMNS =
      """
      provider, event_id, event_type, received_at, disposition, disposition_reason, payment_id,
        delivery_count, match_count, next_match_at, wiped_at
      """;

  private WebhookRows() {}

  /**
   * Which events.
   *
   * @param dispositions empty: any
   * @param wipedToo not only those whose body is there
   */
  record Filter(
      @Nullable String provider,
      List<String> eventIds,
      @Nullable Instant from,
      @Nullable Instant to,
      List<Disposition> dispositions,
      @Nullable String paymentId,
      boolean wipedToo,
      int limit) {

    private String where() {
      return """
          WHERE (:provider::text IS NULL OR provider = :provider)
            AND (:payment_id::text IS NULL OR payment_id = :payment_id)
            AND (:any_event OR event_id = ANY (:event_ids))
            AND (:any_disposition OR disposition = ANY (:dispositions))
            AND (:from::timestamptz IS NULL OR received_at >= :from)
            AND (:to::timestamptz IS NULL OR received_at < :to)
          """
          // As text, not as a parameter: the index is of these only.
          + (wipedToo ? "" : "  AND wiped_at IS NULL\n");
    }

    private Query bindTo(Query query) {
      return query
          .bind("provider", provider)
          .bind("payment_id", paymentId)
          .bind("any_event", eventIds.isEmpty())
          .bindArray("event_ids", String.class, eventIds)
          .bind("any_disposition", dispositions.isEmpty())
          .bindArray("dispositions", String.class, dispositions.stream().map(Enum::name).toList())
          .bind("from", time(from))
          .bind("to", time(to));
    }

    private static @Nullable OffsetDateTime time(@Nullable Instant instant) {
      return instant == null ? null : OffsetDateTime.ofInstant(instant, ZoneOffset.UTC);
    }
  }

  /** The key of an event. */
  record Key(String provider, String eventId) {}

  /** The newest first. */
  static List<Map<String, Object>> list(Handle tx, Filter filter) {
    return filter
        .bindTo(
            tx.createQuery(
                "SELECT "
                    + COLUMNS
                    + "FROM payrelay.provider_event "
                    + filter.where()
                    + "ORDER BY received_at DESC LIMIT :limit"))
        .bind("limit", filter.limit())
        .map(Rows::read)
        .list();
  }

  /** The oldest first: the order in which they came. */
  static List<Key> keys(Handle tx, Filter filter) {
    return filter
        .bindTo(
            tx.createQuery(
                "SELECT provider, event_id FROM payrelay.provider_event "
                    + filter.where()
                    + "ORDER BY received_at, event_id LIMIT :limit"))
        .bind("limit", filter.limit())
        .map((row, context) -> new Key(row.getString(1), row.getString(2)))
        .list();
  }

  /** How many of which provider and disposition, and how many of them were wiped. */
  static List<Map<String, Object>> counts(Handle tx, Filter filter) {
    return filter
        .bindTo(
            tx.createQuery(
                "SELECT provider, disposition, count(*) AS events,"
                    + " count(wiped_at) AS wiped, min(received_at) AS oldest,"
                    + " max(received_at) AS newest FROM payrelay.provider_event "
                    + filter.where()
                    + "GROUP BY provider, disposition ORDER BY provider, disposition"))
        .map(Rows::read)
        .list();
  }

  /** One event with headers and masked body, the cases that name it and what people did with it. */
  static Optional<Map<String, Object>> show(Handle tx, String provider, String eventId) {
    Optional<Map<String, Object>> event =
        tx.createQuery(
                "SELECT "
                    + COLUMNS
                    + ", disposition_at, key_id, encode(body_digest, 'hex') AS body_digest, headers,"
                    + " CASE WHEN wiped_at IS NULL THEN body END AS body FROM payrelay.provider_event"
                    + " WHERE provider = :provider AND event_id = :event_id")
            .bind("provider", provider)
            .bind("event_id", eventId)
            .map(Rows::read)
            .findOne();
    return event.map(
        row -> {
          Map<String, Object> shown = new LinkedHashMap<>(row);
          if (row.containsKey("wiped_at")) {
            shown.put("body", "wiped at " + row.get("wiped_at") + "; the digest is what is left");
            shown.remove("headers");
          }
          if (exists(tx, "provider_event_conflict")) {
            shown.put(
                "contradicting",
                tx.createQuery(
                        """
                        SELECT received_at, key_id, headers, body FROM payrelay.provider_event_conflict
                        WHERE provider = :provider AND event_id = :event_id ORDER BY received_at
                        """)
                    .bind("provider", provider)
                    .bind("event_id", eventId)
                    .map(Rows::read)
                    .list());
          }
          shown.put(
              "cases",
              tx.createQuery(
                      """
                      SELECT exception_case_id AS id, kind, status, opened_at, resolved_by, resolution
                      FROM payrelay.exception_case
                      WHERE provider = :provider AND evidence ->> 'event_id' = :event_id
                      ORDER BY exception_case_id
                      """)
                  .bind("provider", provider)
                  .bind("event_id", eventId)
                  .map(Rows::read)
                  .list());
          shown.put(
              "actions",
              tx.createQuery(
                      """
                      SELECT acted_at, action, acted_by, database_user, reason, result
                      FROM payrelay.operator_action
                      WHERE provider = :provider AND event_id = :event_id ORDER BY operator_action_id
                      """)
                  .bind("provider", provider)
                  .bind("event_id", eventId)
                  .map(Rows::read)
                  .list());
          return shown;
        });
  }

  /** Is there that table? Refunds and contradicting bodies came later than the rest. */
  static boolean exists(Handle tx, String table) {
    return tx.createQuery("SELECT to_regclass(:name) IS NOT NULL")
        .bind("name", "payrelay." + table)
        .mapTo(Boolean.class)
        .one();
  }
}
