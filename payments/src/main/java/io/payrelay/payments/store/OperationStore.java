package io.payrelay.payments.store;

import org.jdbi.v3.core.Handle;

/** Operations and their attempts. Stateless, safe for any thread. */
public final class OperationStore {

  /** Makes the charge of an unresolved payment ask the provider now instead of later. */
  public void queryNow(Handle tx, String paymentId) {
    tx.createUpdate(
            """
            UPDATE payrelay.operation
            SET next_action = 'QUERY', next_action_at = clock_timestamp(), updated_at = clock_timestamp()
            WHERE payment_id = :payment_id AND kind = 'CHARGE' AND call_count > 0
              AND (next_action_at IS NULL OR next_action_at > clock_timestamp())
            """)
        .bind("payment_id", paymentId)
        .execute();
  }
}
