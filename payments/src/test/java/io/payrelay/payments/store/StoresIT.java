package io.payrelay.payments.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.payments.lifecycle.PaymentStatus;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class StoresIT {

  private static PaymentsDatabase database;

  @BeforeAll
  static void migrate() throws SQLException {
    database = new PaymentsDatabase();
  }

  @AfterAll
  static void close() {
    database.close();
  }

  @Test
  void readsAPaymentAsItWasWritten() {
    database.request("read_0001", 1250);

    Payment payment =
        database
            .ingest
            .jdbi()
            .withHandle(tx -> new PaymentStore().find(tx, "read_0001"))
            .orElseThrow();

    assertThat(payment.amount().amountMinor()).isEqualTo(1250);
    assertThat(payment.status()).isEqualTo(PaymentStatus.CREATED);
    assertThat(payment.version()).isEqualTo(1);
    assertThat(payment.traceId()).isEqualTo("trace-1");
    Optional<Payment> none =
        database.worker.jdbi().withHandle(tx -> new PaymentStore().find(tx, "none_0001"));
    assertThat(none).isEmpty();
  }

  @Test
  void findsPaymentsWhoseTriggerNeverCame() {
    database.request("sweep_001", 5);
    database.request("sweep_002", 5);
    database.request("sweep_003", 5);
    operation("sweep_002", 0, "NULL", "NULL");
    database
        .owner
        .jdbi()
        .useHandle(
            handle ->
                handle.execute(
                    "INSERT INTO payrelay.exception_case (business_key, kind, payment_id, event_at)"
                        + " VALUES ('k', 'PAYLOAD_MISMATCH', 'sweep_003', now())"));

    assertThat(sweep(Duration.ZERO)).contains("sweep_001").doesNotContain("sweep_002", "sweep_003");
    assertThat(sweep(Duration.ofHours(1))).isEmpty();
  }

  private static List<String> sweep(Duration olderThan) {
    return database
        .worker
        .jdbi()
        .withHandle(tx -> new PaymentStore().withoutOperation(tx, olderThan, 100));
  }

  @Test
  void asksNowWhereACallWasMade() {
    for (String id : List.of("query_001", "query_002", "query_003")) {
      database.request(id, 5);
    }
    operation("query_001", 1, "'QUERY'", "now() + interval '1 hour'");
    operation("query_002", 0, "'CALL'", "now() + interval '1 hour'");
    operation("query_003", 1, "'CALL'", "now() - interval '1 hour'");

    database
        .ingest
        .jdbi()
        .useTransaction(
            tx ->
                List.of("query_001", "query_002", "query_003")
                    .forEach(id -> new OperationStore().queryNow(tx, id)));

    assertThat(
            database.column(
                "SELECT next_action || ' ' || (next_action_at <= clock_timestamp()) FROM payrelay.operation"
                    + " WHERE payment_id LIKE 'query%' ORDER BY payment_id"))
        .containsExactly("QUERY true", "CALL false", "CALL true");
  }

  private static void operation(String paymentId, int calls, String action, String at) {
    database
        .owner
        .jdbi()
        .useHandle(
            handle ->
                handle.execute(
                    """
                    INSERT INTO payrelay.operation (payment_id, kind, provider, idempotency_key,
                      request_body, request_digest, call_count, next_action, next_action_at)
                    VALUES ('%s', 'CHARGE', 'simulator', '%s', 'b', sha256('b'), %d, %s, %s)
                    """
                        .formatted(paymentId, paymentId, calls, action, at)));
  }
}
