package io.payrelay.workbench;

import java.util.List;
import org.jdbi.v3.core.Jdbi;

/** What the database knows of charge workers and their calls. Safe for any thread. */
final class WorkerQuestions {

  private final Jdbi owner;

  WorkerQuestions(Jdbi owner) {
    this.owner = owner;
  }

  /** Calls and questions that a worker has claimed and not finished, within its lease. */
  long callsInFlight(String lifeName) {
    return owner.withHandle(
        handle ->
            handle
                .createQuery(
                    "SELECT count(*) FROM payrelay.attempt WHERE finished_at IS NULL"
                        + " AND lease_owner = :owner AND lease_until > clock_timestamp()")
                .bind("owner", lifeName)
                .mapTo(Long.class)
                .one());
  }

  /** Who makes the call for a payment now; empty: nobody. */
  String callerOf(String paymentId) {
    return owner.withHandle(
        handle ->
            handle
                .createQuery(
                    "SELECT a.lease_owner FROM payrelay.attempt a JOIN payrelay.operation o USING (operation_id)"
                        + " WHERE o.payment_id = :id AND a.finished_at IS NULL AND a.kind = 'CALL'")
                .bind("id", paymentId)
                .mapTo(String.class)
                .findFirst()
                .orElse(""));
  }

  /** Attempts whose lease ended before their outcome was written. */
  long abandonedAttempts() {
    return owner.withHandle(
        handle ->
            handle
                .createQuery("SELECT count(*) FROM payrelay.attempt WHERE outcome = 'ABANDONED'")
                .mapTo(Long.class)
                .one());
  }

  /** The first payments and refunds without an end, and the first cases, for whoever looks why. */
  List<String> offenders() {
    return owner.withHandle(
        handle ->
            handle
                .createQuery(
                    """
                    (SELECT format('%s is %s since %s, next %s at %s', p.payment_id, p.status, p.updated_at,
                      o.next_action, o.next_action_at)
                    FROM payrelay.payment p LEFT JOIN payrelay.operation o ON o.payment_id = p.payment_id
                    WHERE p.status NOT IN ('SUCCEEDED', 'FAILED') ORDER BY p.created_at LIMIT 5)
                    UNION ALL
                    (SELECT format('%s has a case: %s', payment_id, business_key)
                    FROM payrelay.exception_case WHERE kind <> 'REFUND_RETURNED' ORDER BY opened_at LIMIT 5)
                    UNION ALL
                    (SELECT format('refund %s is %s since %s', refund_id, status, updated_at)
                    FROM payrelay.refund WHERE status NOT IN ('SUCCEEDED', 'FAILED', 'RETURNED')
                    ORDER BY created_at LIMIT 5)
                    """)
                .mapTo(String.class)
                .list());
  }
}
