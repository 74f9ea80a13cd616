package io.payrelay.app;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.payrelay.app.OperatorFixture.Result;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.money.Money;
import io.payrelay.payments.store.AttemptOutcome;
import io.payrelay.payments.store.Claim;
import io.payrelay.payments.store.ClaimTerms;
import io.payrelay.payments.store.FinishedAttempt;
import io.payrelay.payments.store.OperationAction;
import io.payrelay.payments.store.OperationStore;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The commands of a person, run by a login that has the role payrelay_operator and no other. */
@Timeout(120)
final class OperatorToolsIT {

  private static final Money PRICE = new Money(1999, "EUR");
  private static final String[] SUCCEEDED = {
    "--succeeded", "--transaction-id", "", "--amount-minor", "1999", "--currency", "EUR"
  };

  private static OperatorFixture fixture;

  @BeforeAll
  static void migrate() {
    fixture = new OperatorFixture();
  }

  private static String[] succeeded(String transactionId) {
    String[] action = SUCCEEDED.clone();
    action[2] = transactionId;
    return action;
  }

  @Test
  void aPersonsWordIsAFactWithWhoWhyAndEvidenceAndIsSaidOnce() throws Exception {
    String payment = fixture.payment();
    long id = fixture.unresolved(payment);
    assertThat(fixture.run("exceptions", "list", "--payment", payment).out())
        .contains("kind=UNRESOLVED", "takes=--query,--succeeded,--failed,--close", "1 shown");
    Result close = fixture.resolve(id, "--close");
    assertThat(close.exitCode()).isEqualTo(CommandLines.EXIT_FATAL);
    assertThat(close.err()).contains("is UNKNOWN and nobody asks for it any more");

    Result done = fixture.resolve(id, succeeded("ch_" + payment));

    assertThat(done.err()).isEmpty();
    assertThat(done.out()).contains("UNKNOWN to SUCCEEDED", "case " + id + " is RESOLVED");
    assertThat(fixture.status(payment)).isEqualTo("SUCCEEDED");
    assertThat(
            fixture.text(
                """
                SELECT concat_ws(' ', fact_source, evidence ->> 'by', evidence ->> 'evidence')
                FROM payrelay.payment_event WHERE payment_id = ? AND status = 'SUCCEEDED'
                """,
                payment))
        .isEqualTo("OPERATOR anna ticket 7");
    assertThat(
            fixture.text("SELECT kind FROM payrelay.ledger_posting WHERE payment_id = ?", payment))
        .isEqualTo("CAPTURE");
    assertThat(
            fixture.text(
                """
                SELECT count(*) FROM payrelay.outbox
                WHERE aggregate_id = ? AND payload ->> 'status' = 'SUCCEEDED'
                """,
                payment))
        .isEqualTo("1");
    Result again = fixture.resolve(id, succeeded("ch_" + payment));
    assertThat(again.exitCode()).isEqualTo(CommandLines.EXIT_FATAL);
    assertThat(again.err()).contains("was resolved already, by anna");
    JsonNode shown =
        new ObjectMapper()
            .readTree(fixture.run("exceptions", "show", Long.toString(id), "--json").out());
    assertThat(shown.path("resolution").asText()).isEqualTo("SUCCEEDED: seen at the provider");
    assertThat(shown.path("actions").findValuesAsText("database_user"))
        .hasSize(3)
        .containsOnly(fixture.login);
    assertThat(shown.path("actions").findValuesAsText("result").get(0)).startsWith("refused: ");
    assertThat(fixture.run("exceptions", "show", Long.toString(id)).out())
        .contains("kind: UNRESOLVED", "acted_by=anna");
  }

  @Test
  void ofTwoWhoResolveOneCaseOneIsRefused() throws Exception {
    String payment = fixture.payment();
    long id = fixture.unresolved(payment);
    ExecutorService pool = Executors.newFixedThreadPool(2);
    try {
      List<Callable<Result>> both =
          List.of(
              () -> fixture.resolve(id, succeeded("ch_a" + payment)),
              () -> fixture.resolve(id, "--failed", "--code", "never_paid"));
      List<Integer> codes = new ArrayList<>();
      for (Future<Result> one : pool.invokeAll(both)) {
        codes.add(one.get().exitCode());
      }

      assertThat(codes).containsExactlyInAnyOrder(0, CommandLines.EXIT_FATAL);
      assertThat(fixture.status(payment)).isIn("SUCCEEDED", "FAILED");
    } finally {
      pool.shutdownNow();
    }
  }

  @Test
  void aPersonsWordBreaksNoInvariant() {
    String other = fixture.payment();
    fixture.fact(other, FactSource.WEBHOOK, Observation.SUCCEEDED, "ch_taken", PRICE);
    String payment = fixture.payment();
    long id = fixture.unresolved(payment);

    Result taken = fixture.resolve(id, succeeded("ch_taken"));
    Result wrong =
        fixture.resolve(
            id,
            "--succeeded",
            "--transaction-id",
            "ch_x",
            "--amount-minor",
            "1",
            "--currency",
            "EUR");
    fixture.execute(
        """
        INSERT INTO payrelay.attempt (operation_id, attempt_number, kind, lease_owner, lease_until)
        SELECT operation_id, 2, 'CALL', 'w', now() + interval '1 minute'
        FROM payrelay.operation WHERE payment_id = ?
        """,
        payment);
    Result early = fixture.resolve(id, "--failed", "--code", "no");

    assertThat(taken.err()).contains("TRANSACTION_CLAIMED_TWICE (by payment " + other + ")");
    assertThat(wrong.err()).contains("AMOUNT_MISMATCH (1999 EUR asked for, 1 EUR said)");
    assertThat(early.err()).contains("under way at this moment");
    assertThat(List.of(taken.exitCode(), wrong.exitCode(), early.exitCode())).containsOnly(1);
    assertThat(fixture.status(payment)).isEqualTo("UNKNOWN");
    assertThat(
            fixture.text(
                "SELECT count(*) FROM payrelay.ledger_posting WHERE payment_id = ?", payment))
        .isEqualTo("0");
    assertThat(fixture.openCase(payment)).isEqualTo(id);
  }

  @Test
  void whatDoesNotFitACaseIsRefusedWithWhatDoes() {
    String payment = fixture.payment();
    fixture.fact(payment, FactSource.RESPONSE, Observation.FAILED, null, null);
    fixture.fact(payment, FactSource.WEBHOOK, Observation.SUCCEEDED, "ch_late" + payment, PRICE);
    long id = fixture.openCase(payment);

    assertThat(fixture.resolve(id, succeeded("ch_1")).err())
        .contains("is LATE_SUCCESS: it takes --refund, --close, not --succeeded");
    assertThat(fixture.resolve(id, "--close", "--code", "x").exitCode())
        .isEqualTo(CommandLines.EXIT_USAGE);
    assertThat(fixture.resolve(id, "--adopt", "--merchant", "m").err()).contains("is needed");
    assertThat(fixture.resolve(999_999, "--close").err()).contains("There is no exception case");
    assertThat(fixture.resolve(id, "--close").out()).contains("case " + id + " is RESOLVED");
  }

  @Test
  void moneyOfACaseIsGivenBack() {
    assumeThat(fixture.text("SELECT to_regproc('payrelay.request_refund')")).isNotEqualTo("none");
    String payment = fixture.payment();
    fixture.fact(payment, FactSource.RESPONSE, Observation.FAILED, null, null);
    fixture.fact(payment, FactSource.WEBHOOK, Observation.SUCCEEDED, "ch_back" + payment, PRICE);
    long id = fixture.openCase(payment);

    assertThat(fixture.resolve(id, "--refund", "--amount-minor", "2000").err())
        .contains("1999 of the 1999 captured can still be given back");
    Result done = fixture.resolve(id, "--refund");

    assertThat(done.err()).isEmpty();
    assertThat(done.out()).contains("refund refund_case_" + id + " of 1999 EUR");
    assertThat(fixture.run("payment", "show", payment).out())
        .contains("refund        refund_id=refund_case_" + id + "  status=REQUESTED");
    long unmatched = unmatched("ch_stray_" + payment, null);
    assertThat(fixture.resolve(unmatched, "--refund").out())
        .contains("is payment adopted_" + unmatched + " now", "is asked for");
  }

  @Test
  void theProviderIsAskedThoughTheOperationWasGivenUpAndNothingIsSentToIt() throws Exception {
    String payment = fixture.payment();
    long id = fixture.unresolved(payment);
    ExecutorService pool = Executors.newSingleThreadExecutor();
    try {
      Future<Result> asked = pool.submit(() -> fixture.resolve(id, "--query", "--wait", "30s"));
      answer(payment, Observation.PENDING, AttemptOutcome.PENDING);
      assertThat(asked.get().out())
          .contains("simulator answered PENDING", "is UNKNOWN", "case " + id + " is OPEN");

      Future<Result> payments = pool.submit(() -> fixture.run("payment", "query", payment));
      answer(payment, Observation.SUCCEEDED, AttemptOutcome.SUCCEEDED);
      assertThat(payments.get().exitCode()).isZero();
      assertThat(payments.get().out()).contains("answered SUCCEEDED", "is SUCCEEDED");
    } finally {
      pool.shutdownNow();
    }
    assertThat(fixture.run("payment", "query", payment).err()).contains("nothing left to ask");
    assertThat(fixture.resolve(id, "--close").exitCode()).isZero();
    String untouched = fixture.payment();
    assertThat(fixture.run("payment", "query", untouched).err())
        .contains("there is nothing to ask");
    long waiting = fixture.unresolved(untouched);
    Result late = fixture.resolve(waiting, "--query", "--wait", "0s");
    assertThat(late.exitCode()).isEqualTo(CommandLines.EXIT_RETRIABLE);
    assertThat(late.out()).contains("no answer yet", "is OPEN");
  }

  /** Does what a worker does, and says what the provider did. */
  private static void answer(String payment, Observation said, AttemptOutcome outcome) {
    OperationStore store = new OperationStore();
    ClaimTerms terms =
        new ClaimTerms(
            "test", Duration.ofSeconds(30), Duration.ofHours(1), Duration.ofHours(1), true);
    List<Claim> claims = new ArrayList<>();
    await()
        .until(
            () -> {
              claims.addAll(
                  fixture.owner.inTransaction(
                      tx ->
                          store.take(tx, "simulator", 10, terms).claims().stream()
                              .filter(claim -> claim.paymentId().equals(payment))
                              .toList()));
              return !claims.isEmpty();
            });
    Claim claim = claims.get(0);
    assertThat(claim.action()).isEqualTo(OperationAction.QUERY);
    assertThat(claim.keySafeLeft()).isNegative();
    boolean paid = said == Observation.SUCCEEDED;
    fixture.fact(
        payment, FactSource.QUERY, said, paid ? "ch_" + payment : null, paid ? PRICE : null);
    fixture.owner.useTransaction(
        tx ->
            store.finish(
                tx,
                List.of(
                    new FinishedAttempt(
                        claim.operationId(),
                        claim.attemptId(),
                        outcome,
                        200,
                        "{}".getBytes(UTF_8),
                        null,
                        null,
                        null,
                        Duration.ZERO))));
  }

  @Test
  void anUnmatchedProviderPaymentBecomesOneOfOursAndIsNeverCharged() {
    String transaction = "ch_adopt_" + System.nanoTime();
    long id = unmatched(transaction, "evt_" + transaction);
    String ours = "ours_" + id;

    Result done =
        fixture.resolve(
            id, "--adopt", "--payment-id", ours, "--merchant", "shop", "--order", "order-" + id);

    assertThat(done.err()).isEmpty();
    assertThat(done.out()).contains("SUCCEEDED with 1999 EUR; no charge", "1 webhook events of it");
    assertThat(fixture.status(ours)).isEqualTo("SUCCEEDED");
    assertThat(
            fixture.text(
                """
                SELECT string_agg(fact_source || ' ' || event_type, ', ' ORDER BY version)
                FROM payrelay.payment_event WHERE payment_id = ?
                """,
                ours))
        .isEqualTo("OPERATOR PaymentRequested, OPERATOR PaymentPending, OPERATOR PaymentConfirmed");
    assertThat(
            fixture.text(
                """
                SELECT string_agg(DISTINCT event_type, ',') FROM payrelay.outbox WHERE aggregate_id = ?
                """,
                ours))
        .isEqualTo("PaymentStatusChanged");
    assertThat(
            fixture.text(
                "SELECT disposition FROM payrelay.provider_event WHERE event_id = ?",
                "evt_" + transaction))
        .isEqualTo("PARKED");
    long twice = unmatched(transaction, null);
    assertThat(
            fixture
                .resolve(
                    twice, "--adopt", "--payment-id", ours, "--merchant", "shop", "--order", "o")
                .err())
        .contains("payment " + ours + " exists: adopt under an id that is new");
    assertThat(
            fixture
                .resolve(
                    twice,
                    "--adopt",
                    "--payment-id",
                    ours + "_b",
                    "--merchant",
                    "shop",
                    "--order",
                    "o" + twice)
                .err())
        .contains("was adopted already, as payment " + ours);
    assertThat(
            fixture.text("SELECT count(*) FROM payrelay.payment WHERE payment_id = ?", ours + "_b"))
        .isEqualTo("0");
  }

  private static long unmatched(String transactionId, @Nullable String eventId) {
    if (eventId != null) {
      event(eventId, "UNMATCHED", body("nobody_1", transactionId));
    }
    return Long.parseLong(
        fixture.text(
            """
            INSERT INTO payrelay.exception_case (business_key, kind, payment_id, provider,
              provider_transaction_id, observed_amount_minor, observed_currency, evidence, event_at)
            VALUES (gen_random_uuid()::text, 'UNMATCHED_PROVIDER_PAYMENT', 'nobody_1', 'simulator', ?,
              1999, 'EUR', '{"observation": "SUCCEEDED"}', now()) RETURNING exception_case_id
            """,
            transactionId));
  }

  private static String body(String payment, String transactionId) {
    return """
        {"type":"charge.succeeded","timestamp":"2026-11-29T12:00:00Z","data":{"id":"%s",
        "merchant_transaction_id":"%s","amount":1999,"currency":"EUR",
        "customer":{"name":"Canary Name","email":"canary@example.org"},"receipt_email":"canary@example.org",
        "card":{"number":"4111111111111111"}}}"""
        .formatted(transactionId, payment);
  }

  private static void event(String eventId, String disposition, String body) {
    fixture.execute(
        """
        INSERT INTO payrelay.provider_event (provider, event_id, event_type, body, body_digest,
          business_digest, headers, key_id, disposition)
        VALUES ('simulator', ?, 'charge.succeeded', convert_to(?, 'UTF8'), sha256('x'), sha256('x'),
          jsonb_build_object('webhook-id', ?::text), 'k', ?)
        """,
        eventId,
        body,
        eventId,
        disposition);
  }

  @Test
  void theWholeStoryOfAPaymentIsToldInOrderAndWithoutPrivateData() throws Exception {
    String payment = fixture.payment();
    long id = fixture.unresolved(payment);
    event("evt_story_" + payment, "NO_CHANGE", body(payment, "ch_" + payment));
    fixture.execute(
        "UPDATE payrelay.provider_event SET payment_id = ? WHERE event_id = ?",
        payment,
        "evt_story_" + payment);
    fixture.resolve(id, succeeded("ch_" + payment));

    Result text = fixture.run("payment", "show", payment);
    assertThat(text.err()).isEmpty();
    assertThat(text.out())
        .containsSubsequence(
            "PaymentRequested",
            "operation ",
            "attempt ",
            "http_status=502",
            "took_ms=",
            "case opened",
            "webhook ",
            "disposition=NO_CHANGE")
        .contains("PaymentConfirmed", "posting", "operator ", "case resolved", "published")
        .doesNotContain("canary", "Canary", "4111");
    JsonNode story =
        new ObjectMapper()
            .readTree(fixture.run("payment", "show", payment, "--json", "--bodies").out());
    assertThat(story.path("payment").path("status").asText()).isEqualTo("SUCCEEDED");
    assertThat(story.path("story").findValuesAsText("at").stream().map(Instant::parse)).isSorted();
    assertThat(story.path("gaps")).isEmpty();
    assertThat(story.toString())
        .contains("(19 bytes, neither JSON nor a form)", "\"merchant_transaction_id\"", "(hidden")
        .doesNotContain("canary", "Canary", "4111");
    Result none = fixture.run("payment", "show", "pay_none_1");
    assertThat(none.exitCode()).isEqualTo(CommandLines.EXIT_FATAL);
    assertThat(none.err()).contains("There is no payment pay_none_1");
  }

  @Test
  void aFailedEventIsAppliedAgainOnceAndOnTheRecord() {
    String payment = fixture.payment();
    String eventId = "evt_again_" + payment;
    event(eventId, "FAILED", body(payment, "ch_" + payment));
    fixture.execute(
        """
        INSERT INTO payrelay.exception_case (business_key, kind, provider, evidence, event_at)
        VALUES (?, 'WEBHOOK_FAILED', 'simulator', jsonb_build_object('event_id', ?::text), now())
        """,
        "WEBHOOK_FAILED:simulator:" + eventId,
        eventId);
    String[] again = {
      "webhooks", "reprocess", "--event-id", eventId, "--by", "anna", "--reason", "mended"
    };
    String[] execute = Arrays.copyOf(again, again.length + 1);
    execute[again.length] = "--execute";

    assertThat(fixture.run(again).out())
        .contains("simulator FAILED: 1", "nothing was done: add --execute");
    assertThat(fixture.status(payment)).isEqualTo("CREATED");
    Result done = fixture.run(execute);

    assertThat(done.err()).isEmpty();
    assertThat(done.out()).contains("APPLIED: 1", "1 of 1 events reprocessed");
    assertThat(fixture.status(payment)).isEqualTo("SUCCEEDED");
    assertThat(fixture.run(execute).out())
        .contains("1 others are left as they are", "0 of 0 events reprocessed");
    Result shown = fixture.run("webhooks", "show", "simulator", eventId);
    assertThat(shown.out())
        .contains(
            "disposition: APPLIED",
            "\"amount\" : 1999",
            "webhook-id",
            "WEBHOOK_FAILED, status=RESOLVED",
            "FAILED to APPLIED (CREATED to SUCCEEDED); resolves cases")
        .doesNotContain("canary", "Canary", "4111");
    assertThat(fixture.run("webhooks", "list", "--payment", payment).out())
        .contains("disposition=APPLIED", "1 shown");
    assertThat(fixture.run("webhooks", "show", "simulator", "evt_none").exitCode()).isEqualTo(1);
    assertThat(fixture.run("webhooks", "list", "--disposition", "wrong").exitCode())
        .isEqualTo(CommandLines.EXIT_USAGE);
  }

  @Test
  void theOperatorsRoleMayDoNoMoreThanTheCommandsNeed() {
    refused("INSERT INTO payrelay.payment (payment_id) VALUES ('x')");
    refused("UPDATE payrelay.operator_action SET reason = 'another'");
    refused(
        """
        INSERT INTO payrelay.operator_action (action, acted_by, reason, result, database_user)
        VALUES ('payment query', 'a', 'b', 'c', 'somebody')
        """);
    refused("INSERT INTO payrelay.payment_adoption (payment_id) VALUES ('x')");
    refused("SELECT payrelay.wipe_provider_events(1, 1)");
    refused("UPDATE payrelay.exception_case SET kind = 'UNRESOLVED'");
    refused("UPDATE payrelay.provider_event SET body = ''");
    long id = unmatched("ch_role", null);
    fixture.resolve(id, "--close");
    assertThatThrownBy(
            () ->
                fixture.operator.useHandle(
                    handle ->
                        handle.execute(
                            """
                            UPDATE payrelay.exception_case SET status = 'OPEN', resolved_at = NULL,
                              resolved_by = NULL, resolution = NULL WHERE exception_case_id = ?
                            """,
                            id)))
        .hasMessageContaining("was resolved by anna and stays so");
  }

  private static void refused(String sql) {
    assertThatThrownBy(() -> fixture.operator.useHandle(handle -> handle.execute(sql)))
        .as(sql)
        .hasMessageContaining("permission denied");
  }
}
