package io.payrelay.payments.store;

import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.util.Optional;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;

/**
 * Questions to a provider on demand. An operation that was given up is opened again for the
 * question only: what is sent, and until when, stays the worker's decision by {@code
 * key_safe_until}. Stateless, safe for any thread.
 */
public final class QueryRequests {

  /**
   * A question that the worker will ask.
   *
   * @param afterAttemptId the answer is the first attempt after this one
   * @param underWay an attempt is being made at this moment: its answer will do
   */
  public record Asked(String paymentId, String provider, long afterAttemptId, boolean underWay) {}

  /** How an attempt ended. */
  public record Answer(
      String kind, String outcome, @Nullable Integer httpStatus, @Nullable String detail) {}

  private record Charge(
      long operationId, int calls, int queries, long lastAttemptId, boolean underWay) {}

  /**
   * Has the provider asked as soon as a worker comes to it.
   *
   * @param payment as it is locked
   * @throws PayrelayException REJECTED with a sentence where there is nothing to ask
   */
  public Asked ask(Handle tx, Payment payment) {
    if (payment.status().terminal()) {
      throw refused(
          "Payment %s is %s: there is nothing left to ask"
              .formatted(payment.paymentId(), payment.status()));
    }
    Charge charge =
        charge(tx, payment.paymentId())
            .filter(found -> found.calls() + found.queries() > 0)
            .orElseThrow(
                () ->
                    refused(
                        "Nothing was sent to %s for payment %s, which is %s: there is nothing to ask"
                            .formatted(payment.provider(), payment.paymentId(), payment.status())));
    if (charge.underWay()) {
      return new Asked(payment.paymentId(), payment.provider(), charge.lastAttemptId() - 1, true);
    }
    int count =
        tx.createUpdate(
                """
                UPDATE payrelay.operation
                SET next_action = 'QUERY', next_action_at = clock_timestamp(),
                  updated_at = clock_timestamp()
                WHERE operation_id = :id
                """)
            .bind("id", charge.operationId())
            .execute();
    if (count != 1) {
      throw new IllegalStateException("a locked operation is gone");
    }
    return new Asked(payment.paymentId(), payment.provider(), charge.lastAttemptId(), false);
  }

  /** What was answered, where it was. */
  public Optional<Answer> answer(Handle tx, Asked asked) {
    return tx.createQuery(
            """
            SELECT a.kind, a.outcome, a.http_status, a.detail
            FROM payrelay.attempt a JOIN payrelay.operation o USING (operation_id)
            WHERE o.payment_id = :payment_id AND o.kind = 'CHARGE' AND a.attempt_id > :after
              AND a.finished_at IS NOT NULL
            ORDER BY a.attempt_id LIMIT 1
            """)
        .bind("payment_id", asked.paymentId())
        .bind("after", asked.afterAttemptId())
        .map(
            (row, context) ->
                new Answer(
                    row.getString("kind"),
                    row.getString("outcome"),
                    row.getObject("http_status", Integer.class),
                    row.getString("detail")))
        .findOne();
  }

  private static Optional<Charge> charge(Handle tx, String paymentId) {
    return tx.createQuery(
            """
            SELECT o.operation_id, o.call_count, o.query_count,
              coalesce((SELECT max(a.attempt_id) FROM payrelay.attempt a
                WHERE a.operation_id = o.operation_id), 0) AS last_attempt_id,
              EXISTS (SELECT FROM payrelay.attempt a
                WHERE a.operation_id = o.operation_id AND a.finished_at IS NULL
                  AND a.lease_until > clock_timestamp()) AS under_way
            FROM payrelay.operation o
            WHERE o.payment_id = :payment_id AND o.kind = 'CHARGE' FOR UPDATE OF o
            """)
        .bind("payment_id", paymentId)
        .map(
            (row, context) ->
                new Charge(
                    row.getLong("operation_id"),
                    row.getInt("call_count"),
                    row.getInt("query_count"),
                    row.getLong("last_attempt_id"),
                    row.getBoolean("under_way")))
        .findOne();
  }

  private static PayrelayException refused(String sentence) {
    return new PayrelayException(Category.REJECTED, sentence);
  }
}
