package io.payrelay.payments.store;

import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.payments.lifecycle.PaymentStatus;
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
   * @param refundId null: about the payment's charge
   * @param afterAttemptId the answer is the first attempt after this one
   * @param underWay an attempt is being made at this moment: its answer will do
   */
  public record Asked(
      String paymentId,
      @Nullable String refundId,
      String provider,
      long operationId,
      long afterAttemptId,
      boolean underWay) {

    /** What it is about, in words. */
    public String subject() {
      return refundId == null ? "payment " + paymentId : "refund " + refundId;
    }
  }

  /** How an attempt ended. */
  public record Answer(
      String kind, String outcome, @Nullable Integer httpStatus, @Nullable String detail) {}

  private record Operation(
      long operationId, int calls, int queries, long lastAttemptId, boolean underWay) {}

  /**
   * Has the provider asked about a payment's charge as soon as a worker comes to it.
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
    return ask(
        tx,
        payment,
        null,
        operation(tx, "o.payment_id = :id AND o.kind = 'CHARGE'", payment.paymentId()),
        payment.status().name());
  }

  /** The same about a refund of it. */
  Asked askRefund(Handle tx, Payment payment, String refundId) {
    String status = refundStatus(tx, refundId).orElse("not there");
    if (isEndOfRefund(status)) {
      throw refused("Refund %s is %s: there is nothing left to ask".formatted(refundId, status));
    }
    return ask(tx, payment, refundId, operation(tx, "o.refund_id = :id", refundId), status);
  }

  private static Asked ask(
      Handle tx,
      Payment payment,
      @Nullable String refundId,
      Optional<Operation> found,
      String status) {
    String subject = refundId == null ? "payment " + payment.paymentId() : "refund " + refundId;
    Operation operation =
        found
            .filter(one -> one.calls() + one.queries() > 0)
            .orElseThrow(
                () ->
                    refused(
                        "Nothing was sent to %s for %s, which is %s: there is nothing to ask"
                            .formatted(payment.provider(), subject, status)));
    if (!operation.underWay()) {
      int count =
          tx.createUpdate(
                  """
                  UPDATE payrelay.operation
                  SET next_action = 'QUERY', next_action_at = clock_timestamp(),
                    queries_only = queries_only OR next_action IS NULL,
                    resolve_until = CASE WHEN next_action IS NULL THEN NULL ELSE resolve_until END,
                    hinted_at = clock_timestamp(), updated_at = clock_timestamp()
                  WHERE operation_id = :id
                  """)
              .bind("id", operation.operationId())
              .execute();
      if (count != 1) {
        throw new IllegalStateException("a locked operation is gone");
      }
    }
    return new Asked(
        payment.paymentId(),
        refundId,
        payment.provider(),
        operation.operationId(),
        operation.lastAttemptId() - (operation.underWay() ? 1 : 0),
        operation.underWay());
  }

  /** What was answered, where it was. */
  public Optional<Answer> answer(Handle tx, Asked asked) {
    return tx.createQuery(
            """
            SELECT a.kind, a.outcome, a.http_status, a.detail
            FROM payrelay.attempt a
            WHERE a.operation_id = :operation_id AND a.attempt_id > :after
              AND a.finished_at IS NOT NULL
            ORDER BY a.attempt_id LIMIT 1
            """)
        .bind("operation_id", asked.operationId())
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

  /** How what was asked about stands. */
  public String status(Handle tx, Asked asked) {
    String refundId = asked.refundId();
    return refundId != null
        ? refundStatus(tx, refundId).orElse("gone")
        : tx.createQuery("SELECT status FROM payrelay.payment WHERE payment_id = :id")
            .bind("id", asked.paymentId())
            .mapTo(String.class)
            .one();
  }

  /** Is that status, of what was asked about, its end? */
  public static boolean isEnd(Asked asked, String status) {
    return asked.refundId() == null
        ? PaymentStatus.valueOf(status).terminal()
        : isEndOfRefund(status);
  }

  static boolean isEndOfRefund(String status) {
    return status.equals("SUCCEEDED") || status.equals("FAILED") || status.equals("RETURNED");
  }

  static Optional<String> refundStatus(Handle tx, String refundId) {
    return tx.createQuery("SELECT status FROM payrelay.refund WHERE refund_id = :id")
        .bind("id", refundId)
        .mapTo(String.class)
        .findOne();
  }

  private static Optional<Operation> operation(Handle tx, String which, String id) {
    return tx.createQuery(
            """
            SELECT o.operation_id, o.call_count, o.query_count,
              coalesce((SELECT max(a.attempt_id) FROM payrelay.attempt a
                WHERE a.operation_id = o.operation_id), 0) AS last_attempt_id,
              EXISTS (SELECT FROM payrelay.attempt a
                WHERE a.operation_id = o.operation_id AND a.finished_at IS NULL
                  AND a.lease_until > clock_timestamp()) AS under_way
            FROM payrelay.operation o
            WHERE %s FOR UPDATE OF o
            """
                .formatted(which))
        .bind("id", id)
        .map(
            (row, context) ->
                new Operation(
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
