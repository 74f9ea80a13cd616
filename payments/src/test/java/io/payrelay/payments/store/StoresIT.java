package io.payrelay.payments.store;

import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.payments.lifecycle.PaymentStatus;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
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

  /** Else the oldest that are held would be all that is ever found. */
  @Test
  void findsPaymentsWithoutATriggerBehindAnyNumberThatAreHeld() {
    database.request("behind_001", 5);
    database.request("behind_002", 5);
    List<String> found =
        database
            .owner
            .jdbi()
            .inTransaction(
                frozen -> {
                  frozen
                      .createQuery(
                          "SELECT 1 FROM payrelay.payment WHERE payment_id <> 'behind_002' FOR UPDATE")
                      .mapTo(Integer.class)
                      .list();
                  return database
                      .worker
                      .jdbi()
                      .inTransaction(
                          tx -> new PaymentStore().withoutOperation(tx, Duration.ZERO, 1));
                });

    assertThat(found).containsExactly("behind_002");
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
                new OperationStore().queryNow(tx, List.of("query_001", "query_002", "query_003")));

    assertThat(
            database.column(
                "SELECT next_action || ' ' || (next_action_at <= clock_timestamp()) FROM payrelay.operation"
                    + " WHERE payment_id LIKE 'query%' ORDER BY payment_id"))
        .containsExactly("QUERY true", "CALL false", "CALL true");
  }

  /** A hint that comes while an answer is on its way: that answer may be the older one. */
  @Test
  void asksAgainAtOnceWhereAHintCameDuringTheQuery() {
    for (String id : List.of("hint_0001", "hint_0002")) {
      database.request(id, 5);
      operation(id, 1, "'QUERY'", "now()");
    }
    List<Claim> claims = claim("hint_0001", "hint_0002");
    assertThat(claims).hasSize(2);

    queryNow("hint_0001");
    finish(claims, AttemptOutcome.PENDING, OperationAction.QUERY);

    assertThat(due("hint_0001")).isEqualTo("QUERY true");
    assertThat(due("hint_0002")).isEqualTo("QUERY false");
    // The one it asked for is made once.
    List<Claim> again = claim("hint_0001", "hint_0002");
    assertThat(again).extracting(Claim::paymentId).containsExactly("hint_0001");
    finish(again, AttemptOutcome.PENDING, OperationAction.QUERY);
    assertThat(due("hint_0001")).isEqualTo("QUERY false");
  }

  /** Never a call: the payment has its end. */
  @Test
  void asksAboutASettledPaymentUntilThereIsAnAnswerAndCallsItNever() {
    String id = database.request("settled_01", 5);
    operation(id, 1, "NULL", "NULL");
    database
        .owner
        .jdbi()
        .useHandle(
            handle ->
                handle.execute(
                    "UPDATE payrelay.payment SET status = 'FAILED', version = 2, failure_code = 'x'"
                        + " WHERE payment_id = 'settled_01'"));
    queryNow(id);
    assertThat(claim(id)).isEmpty();
    assertThat(due(id)).isEqualTo("none");

    database
        .ingest
        .jdbi()
        .useTransaction(tx -> new OperationStore().queryThoughSettled(tx, List.of(id)));
    List<Claim> first = claim(id);
    finish(first, AttemptOutcome.UNKNOWN, OperationAction.CALL);
    List<Claim> second = claim(id);
    finish(second, AttemptOutcome.NOT_FOUND, OperationAction.CALL);

    assertThat(first).extracting(Claim::action).containsExactly(OperationAction.QUERY);
    assertThat(second).extracting(Claim::action).containsExactly(OperationAction.QUERY);
    assertThat(claim(id)).isEmpty();
    assertThat(due(id)).isEqualTo("none");
  }

  /** The answer may be older than the hint. */
  @Test
  void asksAgainWhereAHintCameWhileTheAnswerWasOnItsWay() {
    String id = database.request("settled_02", 5);
    operation(id, 1, "NULL", "NULL");
    database
        .owner
        .jdbi()
        .useHandle(
            handle ->
                handle.execute(
                    "UPDATE payrelay.payment SET status = 'FAILED', version = 2, failure_code = 'x'"
                        + " WHERE payment_id = 'settled_02'"));
    queryThoughSettled(id);
    List<Claim> first = claim(id);
    queryThoughSettled(id);

    finish(first, AttemptOutcome.NOT_FOUND, null);
    assertThat(due(id)).isEqualTo("QUERY true");
    finish(claim(id), AttemptOutcome.NOT_FOUND, null);

    assertThat(due(id)).isEqualTo("none");
  }

  /** As for charges: what a refund's end is asked about, an older answer does not settle. */
  @Test
  void asksAgainWhereARefundsHintCameWhileTheAnswerWasOnItsWay() {
    String id = database.request("hinted_01", 5);
    database
        .owner
        .jdbi()
        .useHandle(
            handle ->
                handle.execute(
                    """
                    INSERT INTO payrelay.ledger_account VALUES ('hr', 'PROVIDER_RECEIVABLE', 'simulator', 'EUR'),
                      ('hc', 'CUSTOMER_PAYMENTS', 'simulator', 'EUR');
                    WITH p AS (INSERT INTO payrelay.ledger_posting (business_key, kind, payment_id, event_at)
                      VALUES ('capture:simulator:ch_h', 'CAPTURE', 'hinted_01', now()) RETURNING posting_id)
                    INSERT INTO payrelay.ledger_entry SELECT posting_id, 1, 'hr', 'DEBIT', 5, 'EUR' FROM p
                    UNION ALL SELECT posting_id, 2, 'hc', 'CREDIT', 5, 'EUR' FROM p;
                    SELECT payrelay.request_refund('refund_h1', 'hinted_01', 5, 'EUR');
                    INSERT INTO payrelay.operation (payment_id, refund_id, kind, provider, idempotency_key,
                      request_body, request_digest, call_count, next_action, next_action_at)
                    VALUES ('hinted_01', 'refund_h1', 'REFUND', 'simulator', 'refund_h1', 'b', sha256('b'), 1,
                      'QUERY', now())
                    """));
    RefundOperationStore refunds = new RefundOperationStore();
    List<Claim> first = claim(id);
    database.ingest.jdbi().useTransaction(tx -> refunds.queryNow(tx, "refund_h1"));

    finish(first, AttemptOutcome.SUCCEEDED, null);
    assertThat(due(id)).isEqualTo("QUERY true");
    finish(claim(id), AttemptOutcome.SUCCEEDED, null);

    assertThat(due(id)).isEqualTo("none");
  }

  private static void queryThoughSettled(String paymentId) {
    database
        .ingest
        .jdbi()
        .useTransaction(tx -> new OperationStore().queryThoughSettled(tx, List.of(paymentId)));
  }

  private static void queryNow(String paymentId) {
    database
        .ingest
        .jdbi()
        .useTransaction(tx -> new OperationStore().queryNow(tx, List.of(paymentId)));
  }

  private static List<Claim> claim(String... paymentIds) {
    Duration minute = Duration.ofMinutes(1);
    ClaimTerms terms = new ClaimTerms("test", minute, minute, minute, true);
    List<String> ours = List.of(paymentIds);
    return database
        .worker
        .jdbi()
        .inTransaction(tx -> new OperationStore().take(tx, "simulator", 100, terms).claims())
        .stream()
        .filter(claim -> ours.contains(claim.paymentId()))
        .sorted(Comparator.comparing(Claim::paymentId))
        .toList();
  }

  private static void finish(
      List<Claim> claims, AttemptOutcome outcome, @Nullable OperationAction next) {
    Duration delay = next == OperationAction.CALL ? Duration.ZERO : Duration.ofHours(1);
    List<FinishedAttempt> finished =
        claims.stream()
            .map(
                claim ->
                    new FinishedAttempt(
                        claim.operationId(),
                        claim.attemptId(),
                        outcome,
                        200,
                        new byte[0],
                        null,
                        null,
                        next,
                        delay))
            .toList();
    assertThat(
            database
                .worker
                .jdbi()
                .<Integer, RuntimeException>inTransaction(
                    tx -> new OperationStore().finish(tx, finished)))
        .isEqualTo(claims.size());
  }

  private static String due(String paymentId) {
    return database
        .column(
            "SELECT coalesce(next_action || ' ' || (next_action_at <= clock_timestamp()), 'none')"
                + " FROM payrelay.operation WHERE payment_id = '"
                + paymentId
                + "'")
        .get(0);
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
