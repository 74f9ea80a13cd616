package io.payrelay.payments.store;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.payrelay.payments.lifecycle.ExceptionCase;
import io.payrelay.payments.money.Money;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.statement.PreparedBatch;
import org.jspecify.annotations.Nullable;

/** Exception cases. Stateless, safe for any thread. */
public final class ExceptionStore {

  private static final ObjectMapper JSON = new ObjectMapper();

  /**
   * Opens the cases; one whose business key is open already is left as it is. So is a resolved one,
   * unless it is of a kind that recurs: then it is a new case.
   *
   * @return the business keys of those that are new
   */
  public Set<String> open(Handle tx, List<ExceptionCase> cases) {
    if (cases.isEmpty()) {
      return Set.of();
    }
    PreparedBatch batch =
        tx.prepareBatch(
            """
            INSERT INTO payrelay.exception_case (business_key, kind, payment_id, provider,
              provider_transaction_id, expected_amount_minor, expected_currency, observed_amount_minor,
              observed_currency, trace_id, evidence, event_at)
            SELECT :business_key, :kind, :payment_id, :provider, :provider_transaction_id,
              :expected_amount_minor, :expected_currency, :observed_amount_minor, :observed_currency,
              :trace_id, :evidence::jsonb, :event_at
            WHERE :recurs OR NOT EXISTS (SELECT FROM payrelay.exception_case WHERE business_key = :business_key)
            ON CONFLICT (business_key) WHERE status = 'OPEN' DO NOTHING
            """);
    for (ExceptionCase one : cases) {
      batch
          .bind("business_key", one.businessKey())
          .bind("kind", one.kind().name())
          .bind("recurs", one.kind().recurs())
          .bind("payment_id", one.paymentId())
          .bind("provider", one.provider())
          .bind("provider_transaction_id", one.providerTransactionId())
          .bind("expected_amount_minor", minor(one.expected()))
          .bind("expected_currency", currency(one.expected()))
          .bind("observed_amount_minor", minor(one.observed()))
          .bind("observed_currency", currency(one.observed()))
          .bind("trace_id", one.traceId())
          .bind("evidence", json(one.evidence()))
          .bind("event_at", OffsetDateTime.ofInstant(one.eventAt(), ZoneOffset.UTC))
          .add();
    }
    Set<String> opened = new HashSet<>();
    batch
        .executePreparedBatch("business_key")
        .map((row, context) -> row.getString("business_key"))
        .forEach(opened::add);
    return opened;
  }

  /** Does one of the cases with those business keys, open or not, tell of that amount? */
  boolean tellOf(Handle tx, List<String> businessKeys, Money observed) {
    return tx.createQuery(
            """
            SELECT EXISTS (SELECT FROM payrelay.exception_case
              WHERE business_key = ANY (:keys)
                AND observed_amount_minor = :amount_minor AND observed_currency = :currency)
            """)
        .bindArray("keys", String.class, businessKeys)
        .bind("amount_minor", observed.amountMinor())
        .bind("currency", observed.currency())
        .mapTo(Boolean.class)
        .one();
  }

  static String json(Map<String, String> evidence) {
    try {
      return JSON.writeValueAsString(evidence);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("a map of texts is JSON", e);
    }
  }

  private static @Nullable Long minor(@Nullable Money money) {
    return money == null ? null : money.amountMinor();
  }

  private static @Nullable String currency(@Nullable Money money) {
    return money == null ? null : money.currency();
  }
}
