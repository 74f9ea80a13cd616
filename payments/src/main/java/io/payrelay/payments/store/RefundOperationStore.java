package io.payrelay.payments.store;

import io.payrelay.payments.lifecycle.Refund;
import java.util.Comparator;
import java.util.List;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.PreparedBatch;

/**
 * What only operations of refunds need; they are claimed and finished as those of charges are.
 * Stateless, safe for any thread.
 */
public final class RefundOperationStore {

  /**
   * A refund operation to be written. Immutable; the array is not changed by anybody.
   *
   * @param body the exact bytes of every try
   * @param first QUERY where the refund was seen at the provider before we had called it
   */
  public record NewRefundOperation(
      Refund refund, String idempotencyKey, byte[] body, OperationAction first) {}

  /** Writes the operations of refunds that have none, due at once. */
  public void accept(Handle tx, List<NewRefundOperation> operations) {
    if (operations.isEmpty()) {
      return;
    }
    PreparedBatch batch =
        tx.prepareBatch(
            """
            INSERT INTO payrelay.operation (payment_id, refund_id, kind, provider, idempotency_key, request_body,
              request_digest, trace_id, next_action, next_action_at)
            SELECT :payment_id, :refund_id, 'REFUND', :provider, :key, :body, :digest, :trace_id, :action,
              clock_timestamp()
            ON CONFLICT DO NOTHING
            """);
    // Payments first, in id order, as everybody who touches several: the foreign keys lock them.
    operations.stream()
        .sorted(
            Comparator.comparing((NewRefundOperation one) -> one.refund().paymentId())
                .thenComparing(one -> one.refund().refundId()))
        .forEach(
            one ->
                batch
                    .bind("payment_id", one.refund().paymentId())
                    .bind("refund_id", one.refund().refundId())
                    .bind("provider", one.refund().provider())
                    .bind("key", one.idempotencyKey())
                    .bind("body", one.body())
                    .bind("digest", Columns.sha256(one.body()))
                    .bind("trace_id", one.refund().traceId())
                    .bind("action", one.first().name())
                    .add());
    batch.execute();
  }

  /**
   * Makes a refund ask the provider now instead of later, also one that has its end: it may have
   * turned out otherwise. What was closed is opened for queries only. Where an answer is on its
   * way, it may be older than the hint: a query follows it at once.
   */
  public void queryNow(Handle tx, String refundId) {
    tx.createUpdate(
            """
            UPDATE payrelay.operation
            SET next_action = 'QUERY', next_action_at = least(next_action_at, clock_timestamp()),
              queries_only = queries_only OR next_action IS NULL,
              resolve_until = CASE WHEN next_action IS NULL THEN NULL ELSE resolve_until END,
              hinted_at = clock_timestamp(), updated_at = clock_timestamp()
            WHERE refund_id = :refund_id AND call_count + query_count > 0
            """)
        .bind("refund_id", refundId)
        .execute();
  }

  /** Is there an operation of the refund? Then something may have been sent. */
  public boolean exists(Handle tx, String refundId) {
    return tx.createQuery("SELECT EXISTS (SELECT FROM payrelay.operation WHERE refund_id = :id)")
        .bind("id", refundId)
        .mapTo(Boolean.class)
        .one();
  }
}
