package io.payrelay.webhook;

import static io.payrelay.webhook.IngestFixture.event;
import static io.payrelay.webhook.IngestFixture.newEventId;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.store.FactStore;
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
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

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

  @Test
  void neverCallsAWrongAmountASuccess() {
    String payment = fixture.payment();
    String id = newEventId();

    fixture.send(id, event("charge.succeeded", payment, "ch_" + payment, 1, "EUR"));

    assertThat(fixture.status(payment)).isEqualTo("UNKNOWN");
    assertThat(fixture.disposition(id)).isEqualTo("CONFLICT");
    assertThat(fixture.cases(payment)).containsExactly("AMOUNT_MISMATCH");
    assertThat(fixture.capturedMinor(payment)).isEqualTo(1);
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
    fixture.owner.useTransaction(
        tx -> {
          new FactStore()
              .apply(
                  tx,
                  List.of(
                      Fact.plain(
                          FactSource.RESPONSE,
                          "simulator",
                          payment,
                          Observation.UNKNOWN,
                          null,
                          InstantSource.system().instant(),
                          Map.of())),
                  InstantSource.system().instant());
        });
    operation(payment);

    fixture.send(newEventId(), event("charge.pending", payment));

    assertThat(fixture.status(payment)).isEqualTo("UNKNOWN");
    assertThat(queryIsDue(payment)).isTrue();
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
