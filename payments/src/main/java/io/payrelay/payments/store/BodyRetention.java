package io.payrelay.payments.store;

import java.time.Duration;
import java.util.List;
import org.jdbi.v3.core.Handle;

/**
 * Removes what was sent and answered of charges and refunds that ended long ago: bodies can hold
 * private data. The digest of what was sent stays, so that it can still be proved. Stateless, safe
 * for any thread.
 */
public final class BodyRetention {

  /**
   * Wipes the bodies of operations that had their end before that, the oldest first, and those of
   * answers that came before that for operations that were wiped already. Nobody is waited for: an
   * operation of which somebody holds an answer is left for later.
   *
   * @return how many; fewer than the limit: there are no more, or somebody holds them
   */
  public int wipe(Handle tx, Duration olderThan, int limit) {
    int wiped = wipeEnded(tx, olderThan, limit);
    return wiped + wipeLate(tx, olderThan, limit - wiped);
  }

  private static int wipeEnded(Handle tx, Duration olderThan, int limit) {
    List<Long> ids =
        free(
            tx,
            """
            SELECT o.operation_id FROM payrelay.operation o
              JOIN payrelay.payment p ON p.payment_id = o.payment_id
              LEFT JOIN payrelay.refund r ON r.refund_id = o.refund_id
            WHERE o.next_action IS NULL AND o.wiped_at IS NULL
              AND o.updated_at < clock_timestamp() - :age::interval
              AND CASE WHEN r.refund_id IS NULL THEN p.status IN ('SUCCEEDED', 'FAILED')
                ELSE r.status IN ('SUCCEEDED', 'FAILED', 'RETURNED') END
              AND coalesce(r.updated_at, p.updated_at) < clock_timestamp() - :age::interval
            ORDER BY o.updated_at LIMIT :limit
            FOR UPDATE OF o SKIP LOCKED
            """,
            olderThan,
            limit);
    return wipe(tx, ids, "request_body = '', wiped_at = clock_timestamp()");
  }

  /** Answers to questions that were asked after an operation was wiped. */
  private static int wipeLate(Handle tx, Duration olderThan, int limit) {
    List<Long> ids =
        free(
            tx,
            """
            SELECT operation_id FROM payrelay.operation
            WHERE late_body_at < clock_timestamp() - :age::interval AND next_action IS NULL
            ORDER BY late_body_at LIMIT :limit FOR UPDATE SKIP LOCKED
            """,
            olderThan,
            limit);
    return wipe(tx, ids, "late_body_at = NULL");
  }

  /** Those that the query locks and of whose answers nobody holds any; these are locked, too. */
  private static List<Long> free(Handle tx, String query, Duration olderThan, int limit) {
    List<Long> ids =
        tx.createQuery(query)
            .bind("age", olderThan.toMillis() + " milliseconds")
            .bind("limit", limit)
            .mapTo(Long.class)
            .list();
    if (ids.isEmpty()) {
      return ids;
    }
    // A statement of its own: it sees what was answered until the operations were locked.
    return tx.createQuery(
            """
            WITH ours AS MATERIALIZED (
              SELECT attempt_id FROM payrelay.attempt
              WHERE operation_id = ANY (:ids) AND response_body IS NOT NULL
              FOR UPDATE SKIP LOCKED)
            SELECT operation_id FROM unnest(:ids) AS one (operation_id)
            WHERE NOT EXISTS (
              SELECT FROM payrelay.attempt a
              WHERE a.operation_id = one.operation_id AND a.response_body IS NOT NULL
                AND a.attempt_id NOT IN (SELECT attempt_id FROM ours))
            """)
        .bindArray("ids", Long.class, ids)
        .mapTo(Long.class)
        .list();
  }

  private static int wipe(Handle tx, List<Long> ids, String change) {
    if (ids.isEmpty()) {
      return 0;
    }
    tx.createUpdate(
            """
            UPDATE payrelay.attempt SET response_body = NULL
            WHERE operation_id = ANY (:ids) AND response_body IS NOT NULL
            """)
        .bindArray("ids", Long.class, ids)
        .execute();
    return tx.createUpdate(
            "UPDATE payrelay.operation SET " + change + " WHERE operation_id = ANY (:ids)")
        .bindArray("ids", Long.class, ids)
        .execute();
  }
}
