package io.payrelay.payments.store;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jdbi.v3.core.Handle;

/** What waits for a provider or for a person, for metrics. Stateless, safe for any thread. */
public final class BacklogStore {

  /**
   * The charges of one provider, or the refunds, that have no end yet.
   *
   * @param unknownAgeMaxMs how long the oldest unknown one has been so
   * @param dueCount operations that wait to be claimed
   * @param keysNearExpiry operations of which it is unclear whether the provider has them, and
   *     whose key is safe for a short time only: after it nothing can be sent again. What is
   *     PENDING the provider has: its key is not needed any more
   */
  public record Waiting(
      long unknownCount, long unknownAgeMaxMs, long dueCount, long keysNearExpiry) {

    /** Nothing waits. */
    public static final Waiting NONE = new Waiting(0, 0, 0, 0);
  }

  /** The charges that wait, by provider; one without is left out. */
  public Map<String, Waiting> charges(Handle tx, Duration nearExpiry) {
    return waiting(
        tx,
        """
        payrelay.payment p LEFT JOIN payrelay.operation o ON o.payment_id = p.payment_id AND o.kind = 'CHARGE'
        WHERE p.status IN ('CREATED', 'PENDING', 'UNKNOWN')
        """,
        nearExpiry);
  }

  /** The refunds that wait, by provider; one without is left out. */
  public Map<String, Waiting> refunds(Handle tx, Duration nearExpiry) {
    return waiting(
        tx,
        """
        payrelay.refund p LEFT JOIN payrelay.operation o ON o.refund_id = p.refund_id
        WHERE p.status IN ('REQUESTED', 'PENDING', 'UNKNOWN')
        """,
        nearExpiry);
  }

  /** Reads what has no end only. */
  private static Map<String, Waiting> waiting(Handle tx, String what, Duration nearExpiry) {
    Map<String, Waiting> waiting = new LinkedHashMap<>();
    tx.createQuery(
            """
            SELECT p.provider, count(*) FILTER (WHERE p.status = 'UNKNOWN') AS unknown_count,
              coalesce(extract(epoch FROM max(clock_timestamp() - p.updated_at)
                FILTER (WHERE p.status = 'UNKNOWN')) * 1000, 0)::bigint AS unknown_age_max_ms,
              count(*) FILTER (WHERE o.next_action_at <= clock_timestamp()) AS due_count,
              count(*) FILTER (WHERE p.status <> 'PENDING' AND o.next_action IS NOT NULL AND o.key_safe_until > clock_timestamp()
                AND o.key_safe_until <= clock_timestamp() + :near::interval) AS keys_near_expiry
            FROM %s
            GROUP BY p.provider ORDER BY p.provider
            """
                .formatted(what))
        .bind("near", nearExpiry.toMillis() + " milliseconds")
        .map(
            (row, context) ->
                Map.entry(
                    row.getString("provider"),
                    new Waiting(
                        row.getLong("unknown_count"),
                        row.getLong("unknown_age_max_ms"),
                        row.getLong("due_count"),
                        row.getLong("keys_near_expiry"))))
        .forEach(entry -> waiting.put(entry.getKey(), entry.getValue()));
    return waiting;
  }

  /** Open exception cases, by kind; a kind without is left out. */
  public Map<String, Long> openCases(Handle tx) {
    Map<String, Long> open = new LinkedHashMap<>();
    tx.createQuery(
            """
            SELECT kind, count(*) AS count FROM payrelay.exception_case
            WHERE status = 'OPEN' GROUP BY kind ORDER BY kind
            """)
        .map((row, context) -> Map.entry(row.getString("kind"), row.getLong("count")))
        .forEach(entry -> open.put(entry.getKey(), entry.getValue()));
    return open;
  }
}
