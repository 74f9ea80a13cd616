package io.payrelay.payments.store;

import org.jdbi.v3.core.Handle;

/** The record of what people did, appended only. Stateless, safe for any thread. */
public final class OperatorActionStore {

  /** Writes it down, in the transaction of the deed. */
  public void append(Handle tx, OperatorAction action) {
    tx.createUpdate(
            """
            INSERT INTO payrelay.operator_action (action, acted_by, reason, evidence, exception_case_id,
              payment_id, provider, event_id, arguments, result)
            VALUES (:action, :by, :reason, :evidence, :case_id, :payment_id, :provider, :event_id,
              :arguments::jsonb, :result)
            """)
        .bind("action", action.action())
        .bind("by", action.by())
        .bind("reason", action.reason())
        .bind("evidence", action.evidence())
        .bind("case_id", action.exceptionCaseId())
        .bind("payment_id", action.paymentId())
        .bind("provider", action.provider())
        .bind("event_id", action.eventId())
        .bind("arguments", ExceptionStore.json(action.arguments()))
        .bind("result", action.result())
        .execute();
  }
}
