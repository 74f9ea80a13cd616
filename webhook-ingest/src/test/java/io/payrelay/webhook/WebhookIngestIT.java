package io.payrelay.webhook;

import static io.payrelay.webhook.IngestFixture.event;
import static io.payrelay.webhook.IngestFixture.newEventId;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.money.Money;
import io.payrelay.payments.store.FactStore;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.jdbi.v3.core.Handle;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(60)
class WebhookIngestIT {

  private static final int ORDERS = 24;

  private static IngestFixture fixture;

  @BeforeAll
  static void start() {
    fixture = IngestFixture.start();
  }

  @AfterAll
  static void stop() {
    fixture.close();
  }

  @Test
  void movesThePaymentBooksTheMoneyAndTellsTheWorldInOneGo() {
    String payment = fixture.payment();
    String id = newEventId();

    assertThat(fixture.send(id, event("charge.succeeded", payment))).isEqualTo(204);

    assertThat(fixture.status(payment)).isEqualTo("SUCCEEDED");
    assertThat(fixture.disposition(id)).isEqualTo("APPLIED");
    assertThat(fixture.statusEvents(payment)).containsExactly("PENDING", "SUCCEEDED");
    assertThat(fixture.capturedMinor(payment)).isEqualTo(1999);
    assertThat(
            fixture.text(
                """
                SELECT key_id ~ '^[0-9a-f]{8}$' AND headers ? 'webhook-id'
                  AND NOT headers ? 'webhook-signature' FROM payrelay.provider_event WHERE event_id = ?
                """
                    .replace("headers ? '", "headers ?? '"),
                id))
        .isEqualTo("t");
  }

  @Test
  void countsADuplicateAndChangesNothing() {
    String payment = fixture.payment();
    String id = newEventId();
    fixture.send(id, event("charge.succeeded", payment));

    // Another attempt: new timestamps, same meaning.
    assertThat(fixture.send(id, event("charge.succeeded", payment))).isEqualTo(204);

    assertThat(fixture.statusEvents(payment)).containsExactly("PENDING", "SUCCEEDED");
    assertThat(deliveries(id)).isEqualTo(2);
    assertThat(fixture.cases(payment)).isEmpty();
  }

  /** pay-rails #371: parallel deliveries made several rows. */
  @Test
  void appliesOneEventOnceThoughTwentyThreadsDeliverIt() throws Exception {
    String payment = fixture.payment();
    String id = newEventId();
    String body = event("charge.succeeded", payment);
    String sibling = event("charge.pending", payment);

    List<Callable<Integer>> calls = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      calls.add(() -> fixture.send(id, body));
      calls.add(() -> fixture.send(newEventId(), sibling));
    }
    assertThat(together(calls)).containsOnly(204);

    assertThat(fixture.status(payment)).isEqualTo("SUCCEEDED");
    assertThat(fixture.statusEvents(payment)).containsExactly("PENDING", "SUCCEEDED");
    assertThat(fixture.capturedMinor(payment)).isEqualTo(1999);
    assertThat(deliveries(id)).isEqualTo(20);
  }

  @Test
  void parksTwentyDeliveriesOfAnUnmatchedEventOnce() throws Exception {
    String id = newEventId();
    String body = event("charge.succeeded", "pay_nobody");

    List<Callable<Integer>> calls = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      calls.add(() -> fixture.send(id, body));
    }

    assertThat(together(calls)).containsOnly(204);
    assertThat(deliveries(id)).isEqualTo(20);
    assertThat(fixture.disposition(id)).isEqualTo("PARKED");
  }

  /** statamic-cargo #190: the event came before our row and was lost. */
  @Test
  void matchesAnEventThatCameBeforeItsPayment() {
    String payment = "pay_early_" + Long.toHexString(System.nanoTime());
    String id = newEventId();
    assertThat(fixture.send(id, event("charge.succeeded", payment))).isEqualTo(204);
    assertThat(fixture.disposition(id)).isEqualTo("PARKED");

    fixture.payment(payment);

    await().until(() -> fixture.disposition(id).equals("APPLIED"));
    assertThat(fixture.status(payment)).isEqualTo("SUCCEEDED");
    assertThat(fixture.statusEvents(payment)).containsExactly("PENDING", "SUCCEEDED");
  }

  @Test
  void recordsOneIdWithTwoMeaningsAndKeepsTheFirst() {
    String payment = fixture.payment();
    String id = newEventId();
    fixture.send(id, event("charge.pending", payment));

    assertThat(fixture.send(id, event("charge.succeeded", payment))).isEqualTo(204);
    assertThat(fixture.send(id, event("charge.succeeded", payment))).isEqualTo(204);

    assertThat(fixture.status(payment)).isEqualTo("PENDING");
    assertThat(fixture.cases(payment)).containsExactly("WEBHOOK_CONFLICT");
    assertThat(deliveries(id)).isEqualTo(3);
  }

  /** Checklist 3.2 number 5: a person can compare what came under one id, and it is bounded. */
  @Test
  void keepsTheBodiesThatContradictTheFirstOnceEachAndAFewOfAnEvent() {
    String payment = fixture.payment();
    String id = newEventId();
    fixture.send(id, event("charge.succeeded", payment));

    for (int amount = 1; amount <= 7; amount++) {
      String other = event("charge.succeeded", payment, "ch_" + payment, amount, "EUR");
      assertThat(fixture.send(id, other)).isEqualTo(204);
      assertThat(fixture.send(id, other)).isEqualTo(204);
    }

    assertThat(
            fixture.texts(
                """
                SELECT convert_from(body, 'UTF8')::json -> 'data' ->> 'amount'
                FROM payrelay.provider_event_conflict WHERE event_id = ? ORDER BY received_at
                """,
                id))
        .containsExactly("1", "2", "3", "4", "5");
    assertThat(
            fixture.texts(
                """
                SELECT evidence ->> 'second_body' FROM payrelay.exception_case
                WHERE payment_id = ? ORDER BY exception_case_id
                """,
                payment))
        .hasSize(7)
        .startsWith("kept in provider_event_conflict")
        .endsWith("not kept: too many for this event");
    assertThat(fixture.capturedMinor(payment)).isEqualTo(1999);
  }

  /**
   * All orders of the pure function are in PaymentLifecyclePropertyTest; here some, through SQL.
   */
  @Test
  void reachesTheSameEndInAnyOrderOfEvents() {
    List<String> types =
        new ArrayList<>(
            List.of("pending", "succeeded", "failed", "refunded", "disputed", "dispute_won"));
    long seed = Long.getLong("payrelay.seed", System.nanoTime());
    Random random = new Random(seed);
    for (int round = 0; round < ORDERS; round++) {
      Collections.shuffle(types, random);
      String order = "seed " + seed + ": " + types;
      String payment = fixture.payment();

      for (String type : types) {
        assertThat(fixture.send(newEventId(), event("charge." + type, payment))).isEqualTo(204);
      }

      assertThat(fixture.status(payment)).as(order).isEqualTo("SUCCEEDED");
      assertThat(fixture.statusEvents(payment)).as(order).containsExactly("PENDING", "SUCCEEDED");
      assertThat(fixture.capturedMinor(payment)).as(order).isEqualTo(1999);
      assertThat(fixture.cases(payment))
          .as(order)
          .containsExactlyInAnyOrder("PROVIDER_REFUND", "DISPUTED", "DISPUTE_WON");
    }
  }

  /** Webhooks overtake each other, and FAILED is final: the provider's own answer decides. */
  @Test
  void asksTheProviderWhereAWebhookSaysThatItFailed() {
    String payment = fixture.payment();
    operation(payment);

    fixture.send(newEventId(), event("charge.failed", payment));

    assertThat(fixture.status(payment)).isEqualTo("PENDING");
    assertThat(queryIsDue(payment)).isTrue();
    // By the provider's own id, where it cannot be asked by ours.
    assertThat(
            fixture.count(
                """
                SELECT count(*) FROM payrelay.operation
                WHERE payment_id = ? AND provider_reference IS NOT NULL
                """,
                payment))
        .isEqualTo(1);
  }

  /** Checklist 3.1 number 6 and 3.2 number 8: another amount, currency or payee is not ours. */
  @ParameterizedTest
  @CsvSource({
    "AMOUNT_MISMATCH, \"amount\":1999, \"amount\":1, 1",
    "CURRENCY_MISMATCH, EUR, USD, 1999",
    "PAYEE_MISMATCH, acct_1, acct_thief, 1999"
  })
  void neverCallsASuccessOnOtherTermsASuccessAndAsksTheProvider(
      String expected, String ours, String theirs, long suspenseMinor) {
    String payment = fixture.payment();
    operation(payment);
    String id = newEventId();

    fixture.send(id, event("charge.succeeded", payment).replace(ours, theirs));

    assertThat(fixture.status(payment)).isEqualTo("UNKNOWN");
    assertThat(fixture.disposition(id)).isEqualTo("CONFLICT");
    assertThat(fixture.cases(payment)).containsExactly(expected);
    assertThat(fixture.capturedMinor(payment)).isEqualTo(suspenseMinor);
    assertThat(queryIsDue(payment)).isTrue();
  }

  /**
   * What contradicts an end raises a case and asks the provider, whose answer is evidence; a late
   * failure contradicts nothing that a provider means to say.
   */
  // Source: coreshop #2529, nearmerch.com #209, getlago PR 3223.
  @ParameterizedTest
  @CsvSource({
    "FAILED, charge.succeeded, ch_%s, 1999, LATE_SUCCESS",
    "FAILED, charge.succeeded, ch_%s, 7, LATE_SUCCESS",
    "SUCCEEDED, charge.succeeded, ch_other_%s, 1999, DOUBLE_CHARGE",
    "SUCCEEDED, charge.succeeded, ch_%s, 7, AMOUNT_MISMATCH",
    "SUCCEEDED, charge.pending, ch_%s, 7, AMOUNT_MISMATCH",
    "SUCCEEDED, charge.failed, ch_%s, 7, AMOUNT_MISMATCH",
    "SUCCEEDED, charge.failed, ch_other_%s, 1999, ''",
    "SUCCEEDED, charge.pending, ch_other_%s, 1999, ''",
  })
  void raisesACaseAndAsksTheProviderWhereAnEventContradictsTheEnd(
      String end, String type, String charge, long amountMinor, String expected) {
    String payment = fixture.payment();
    ended(payment, end);
    operation(payment);
    fixture.execute(
        "UPDATE payrelay.operation SET next_action = NULL, next_action_at = NULL WHERE payment_id = ?",
        payment);

    String body = event(type, payment, charge.formatted(payment), amountMinor, "EUR");
    assertThat(fixture.send(newEventId(), body)).isEqualTo(204);

    assertThat(fixture.status(payment)).isEqualTo(end);
    assertThat(fixture.cases(payment))
        .isEqualTo(expected.isEmpty() ? List.of() : List.of(expected));
    assertThat(queryIsDue(payment)).isEqualTo(!expected.isEmpty());
    assertThat(
            fixture.text(
                "SELECT ask_settled FROM payrelay.operation WHERE payment_id = ?", payment))
        .isEqualTo(expected.isEmpty() ? "f" : "t");
  }

  @Test
  void keepsATypeItDoesNotKnow() {
    String id = newEventId();

    assertThat(fixture.send(id, "{\"type\":\"payout.paid\",\"data\":{}}")).isEqualTo(204);

    assertThat(fixture.disposition(id)).isEqualTo("UNKNOWN_TYPE");
  }

  @Test
  void keepsAnAuthenticBodyThatCannotBeReadForAPerson() {
    String id = newEventId();

    assertThat(fixture.send(id, "{\"type\":")).isEqualTo(204);

    assertThat(fixture.disposition(id)).isEqualTo("FAILED");
    assertThat(failedCases(id)).isEqualTo(1);
  }

  @Test
  void keepsAnEventThatCannotBeDecidedOnAndReprocessesIt() {
    String payment = fixture.payment();
    String id = newEventId();
    // Stands for whatever the schema refuses in good order: here, to book this currency.
    fixture.owner.useHandle(
        handle ->
            handle.execute(
                "ALTER TABLE payrelay.ledger_account ADD CONSTRAINT no_xbt CHECK (currency <> 'XBT')"));
    String body = event("charge.succeeded", payment, "ch_" + payment, 5, "XBT");
    assertThat(fixture.send(id, body)).isEqualTo(204);
    assertThat(fixture.disposition(id)).isEqualTo("FAILED");
    assertThat(failedCases(id)).isEqualTo(1);
    assertThat(fixture.status(payment)).isEqualTo("CREATED");

    assertThat(fixture.ingest.reprocess("simulator", id)).contains(Disposition.FAILED);
    fixture.owner.useHandle(
        handle -> handle.execute("ALTER TABLE payrelay.ledger_account DROP CONSTRAINT no_xbt"));
    assertThat(fixture.ingest.reprocess("simulator", id)).contains(Disposition.CONFLICT);
    assertThat(fixture.ingest.reprocess("simulator", id)).contains(Disposition.CONFLICT);

    assertThat(fixture.capturedMinor(payment)).isEqualTo(5);
    assertThat(fixture.statusEvents(payment)).containsExactly("PENDING", "UNKNOWN");
    assertThat(fixture.ingest.reprocess("simulator", "evt_none")).isEmpty();
  }

  /** As in statamic-cargo PR 195: a late save of the call's own answer overwrote the webhook. */
  @Test
  void keepsTheWebhooksSuccessWhereTheAnswerOfTheCallIsWrittenLater() {
    String payment = fixture.payment();
    fixture.send(newEventId(), event("charge.succeeded", payment));

    fixture.owner.useTransaction(tx -> answered(tx, payment, Observation.PENDING));
    fixture.owner.useTransaction(tx -> answered(tx, payment, Observation.UNKNOWN));

    assertThat(fixture.status(payment)).isEqualTo("SUCCEEDED");
    assertThat(fixture.statusEvents(payment)).containsExactly("PENDING", "SUCCEEDED");
  }

  /** As in mollie/magento2 #1047: the answer and the webhook both recorded the payment. */
  @Test
  void makesOneChangeOfAnswerAndWebhookInTheSameMoment() throws Exception {
    for (int round = 0; round < 10; round++) {
      String payment = fixture.payment();
      String body = event("charge.succeeded", payment);
      assertThat(
              together(
                  List.of(
                      () -> fixture.send(newEventId(), body),
                      () -> {
                        ended(payment, "SUCCEEDED");
                        return 204;
                      })))
          .containsOnly(204);

      assertThat(fixture.statusEvents(payment)).containsExactly("PENDING", "SUCCEEDED");
      assertThat(fixture.capturedMinor(payment)).isEqualTo(1999);
      assertThat(fixture.cases(payment)).isEmpty();
    }
  }

  /** getlago PR 3223: one provider transaction for two payments. */
  @Test
  void givesOneProviderTransactionToOnePaymentOnly() throws Exception {
    for (int round = 0; round < 5; round++) {
      String one = fixture.payment();
      String other = fixture.payment();
      String charge = "ch_shared_" + one;

      assertThat(
              together(
                  List.of(
                      () ->
                          fixture.send(
                              newEventId(), event("charge.succeeded", one, charge, 1999, "EUR")),
                      () ->
                          fixture.send(
                              newEventId(),
                              event("charge.succeeded", other, charge, 1999, "EUR")))))
          .containsOnly(204);

      assertThat(List.of(fixture.status(one), fixture.status(other)))
          .containsExactlyInAnyOrder("SUCCEEDED", "UNKNOWN");
      List<String> cases = new ArrayList<>(fixture.cases(one));
      cases.addAll(fixture.cases(other));
      assertThat(cases).containsExactly("TRANSACTION_CLAIMED_TWICE");
      assertThat(fixture.capturedMinor(one) + fixture.capturedMinor(other)).isEqualTo(1999);
    }
  }

  @Test
  void asksTheProviderWhereAnEventSettlesNothing() {
    String payment = fixture.payment();
    fixture.owner.useTransaction(tx -> answered(tx, payment, Observation.UNKNOWN));
    operation(payment);

    fixture.send(newEventId(), event("charge.pending", payment));

    assertThat(fixture.status(payment)).isEqualTo("UNKNOWN");
    assertThat(queryIsDue(payment)).isTrue();
  }

  private static void answered(Handle tx, String payment, Observation observation) {
    Instant now = InstantSource.system().instant();
    Fact fact =
        Fact.plain(FactSource.RESPONSE, "simulator", payment, observation, null, now, Map.of());
    new FactStore().apply(tx, List.of(fact), now);
  }

  private static void ended(String payment, String status) {
    boolean failed = status.equals("FAILED");
    Fact fact =
        new Fact(
            FactSource.RESPONSE,
            "simulator",
            payment,
            failed ? Observation.FAILED : Observation.SUCCEEDED,
            failed ? null : "ch_" + payment,
            failed ? null : new Money(1999, "EUR"),
            null,
            null,
            failed ? "card_declined" : null,
            InstantSource.system().instant(),
            Map.of());
    fixture.owner.useTransaction(
        tx -> new FactStore().apply(tx, List.of(fact), InstantSource.system().instant()));
  }

  /** A charge that was sent and has nothing to do for an hour. */
  private static void operation(String payment) {
    fixture.execute(
        """
        INSERT INTO payrelay.operation (payment_id, kind, provider, idempotency_key,
          request_body, request_digest, call_count, next_action, next_action_at)
        VALUES (?, 'CHARGE', 'simulator', gen_random_uuid()::text, '', sha256(''), 1, 'QUERY',
          clock_timestamp() + interval '1 hour')
        """,
        payment);
  }

  private static boolean queryIsDue(String payment) {
    return fixture.count(
            """
            SELECT count(*) FROM payrelay.operation
            WHERE payment_id = ? AND next_action = 'QUERY' AND next_action_at <= clock_timestamp()
            """,
            payment)
        == 1;
  }

  private static long deliveries(String eventId) {
    return fixture.count(
        "SELECT delivery_count FROM payrelay.provider_event WHERE event_id = ?", eventId);
  }

  private static long failedCases(String eventId) {
    return fixture.count(
        """
        SELECT count(*) FROM payrelay.exception_case
        WHERE kind = 'WEBHOOK_FAILED' AND evidence ->> 'event_id' = ?
        """,
        eventId);
  }

  private static List<Integer> together(List<Callable<Integer>> calls) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(calls.size());
    try {
      List<Integer> statuses = new ArrayList<>();
      for (Future<Integer> call : pool.invokeAll(calls)) {
        statuses.add(call.get());
      }
      return statuses;
    } finally {
      pool.shutdownNow();
    }
  }
}
