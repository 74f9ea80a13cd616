package io.payrelay.payments.store;

import io.payrelay.payments.lifecycle.Refund;
import io.payrelay.payments.money.Money;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;

/**
 * Asks for a refund by the SQL contract, as an upstream service would: how much can be given back,
 * the database decides. Stateless, safe for any thread.
 */
final class RefundRequests {

  /**
   * Asks for it; with equal arguments it is one refund, however often it is asked for.
   *
   * @return a sentence
   */
  String request(
      Handle tx,
      long caseId,
      String paymentId,
      String transactionId,
      Money amount,
      @Nullable String traceId) {
    boolean there =
        tx.createQuery("SELECT to_regproc('payrelay.request_refund') IS NOT NULL")
            .mapTo(Boolean.class)
            .one();
    if (!there) {
      throw new PayrelayException(
          Category.REJECTED, "The schema of this database has no refunds: migrate it first");
    }
    String refundId =
        tx.createQuery(
                """
                SELECT payrelay.request_refund(refund_id => :refund_id, payment_id => :payment_id,
                  amount_minor => :amount_minor, currency => :currency,
                  provider_transaction_id => :transaction_id,
                  business_refs => jsonb_build_object('exception_case_id', :case_id::text),
                  trace_id => :trace_id)
                """)
            // Derived: one refund a case, whoever asks for it again.
            .bind("refund_id", Refund.idOfCase(caseId))
            .bind("payment_id", paymentId)
            .bind("amount_minor", amount.amountMinor())
            .bind("currency", amount.currency())
            .bind("transaction_id", transactionId)
            .bind("case_id", caseId)
            .bind("trace_id", traceId)
            .mapTo(String.class)
            .one();
    return "refund %s of %d %s of transaction %s is asked for"
        .formatted(refundId, amount.amountMinor(), amount.currency(), transactionId);
  }
}
