package io.payrelay.payments.store;

import java.util.Optional;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;

/** Provider's payments that people took over. Stateless, safe for any thread. */
public final class Adoptions {

  /**
   * The payment as which was adopted what the provider's events call by another name.
   *
   * @param transactionId null where the event names none
   */
  public Optional<String> adoptedAs(
      Handle tx, String provider, String namedPaymentId, @Nullable String transactionId) {
    return tx.createQuery(
            """
            SELECT payment_id FROM payrelay.payment_adoption
            WHERE provider = :provider AND named_payment_id = :named
              AND (:transaction_id::text IS NULL OR provider_transaction_id = :transaction_id)
            LIMIT 1
            """)
        .bind("provider", provider)
        .bind("named", namedPaymentId)
        .bind("transaction_id", transactionId)
        .mapTo(String.class)
        .findFirst();
  }
}
