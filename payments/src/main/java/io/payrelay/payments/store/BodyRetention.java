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
   * answers that came before that for operations that were wiped already.
   *
   * @return how many; fewer than the limit: there are no more
   */
  public int wipe(Handle tx, Duration olderThan, int limit) {
    int wiped = wipeEnded(tx, olderThan, limit);
    return wiped + wipeLate(tx, olderThan, limit - wiped);
  }

  private static int wipeEnded(Handle tx, Duration olderThan, int limit) {
    List<Long> ids =
        tx.createQuery(
                """
                UPDATE payrelay.operation SET request_body = '', wiped_at = clock_timestamp()
                WHERE operation_id IN (
                  SELECT o.operation_id FROM payrelay.operation o
                    JOIN payrelay.payment p ON p.payment_id = o.payment_id
                    LEFT JOIN payrelay.refund r ON r.refund_id = o.refund_id
                  WHERE o.next_action IS NULL AND o.wiped_at IS NULL
                    AND o.updated_at < clock_timestamp() - :age::interval
                    AND CASE WHEN r.refund_id IS NULL THEN p.status IN ('SUCCEEDED', 'FAILED')
                      ELSE r.status IN ('SUCCEEDED', 'FAILED', 'RETURNED') END
                    AND coalesce(r.updated_at, p.updated_at) < clock_timestamp() - :age::interval
                  ORDER BY o.updated_at LIMIT :limit
                  FOR UPDATE OF o SKIP LOCKED)
                RETURNING operation_id
                """)
            .bind("age", olderThan.toMillis() + " milliseconds")
            .bind("limit", limit)
            .mapTo(Long.class)
            .list();
    if (!ids.isEmpty()) {
      tx.createUpdate(
              """
              UPDATE payrelay.attempt SET response_body = NULL
              WHERE operation_id = ANY (:ids) AND response_body IS NOT NULL
              """)
          .bindArray("ids", Long.class, ids)
          .execute();
    }
    return ids.size();
  }

  /** Answers to questions that were asked after an operation was wiped. */
  private static int wipeLate(Handle tx, Duration olderThan, int limit) {
    return tx.createQuery(
            """
            WITH late AS (
              UPDATE payrelay.operation SET late_body_at = NULL
              WHERE operation_id IN (SELECT operation_id FROM payrelay.operation
                WHERE late_body_at < clock_timestamp() - :age::interval AND next_action IS NULL
                ORDER BY late_body_at LIMIT :limit FOR UPDATE SKIP LOCKED)
              RETURNING operation_id),
            emptied AS (
              UPDATE payrelay.attempt SET response_body = NULL
              WHERE operation_id IN (SELECT operation_id FROM late) AND response_body IS NOT NULL)
            SELECT count(*)::integer FROM late
            """)
        .bind("age", olderThan.toMillis() + " milliseconds")
        .bind("limit", limit)
        .mapTo(Integer.class)
        .one();
  }
}
