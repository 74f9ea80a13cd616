package io.payrelay.webhook;

import static io.payrelay.webhook.IngestFixture.newEventId;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.stripe.net.Webhook;
import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.store.FactStore;
import io.payrelay.platform.config.Secret;
import io.payrelay.providers.stripe.StripeWebhookConfig;
import io.payrelay.providers.stripe.StripeWebhooks;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Stripe's events over real HTTP, signed by Stripe's own library. */
@Timeout(60)
class StripeWebhookIT {

  private static final String SECRET = "whsec_newSecretnewSecretnewSecretnew";
  private static final AtomicInteger IDS = new AtomicInteger();

  private static IngestFixture fixture;

  @BeforeAll
  static void start() {
    fixture =
        IngestFixture.start(
            Map.of(),
            IngestFaults.NONE,
            List.of(
                new StripeWebhooks(
                    new StripeWebhookConfig(
                        List.of(new Secret(SECRET)), Duration.ofMinutes(5), true, ""))));
  }

  @AfterAll
  static void stop() {
    fixture.close();
  }

  /** Finding 10: Stripe tells one change by two events, and may send one event under two ids. */
  @Test
  void makesOneStatusChangeOfTwoEventsForOneChange() {
    String payment = payment();
    String intent = newEventId();
    String charge = newEventId();
    String again = newEventId();

    assertThat(send(intentEvent(intent, "succeeded", "succeeded", payment))).isEqualTo(200);
    assertThat(send(chargeEvent(charge, payment))).isEqualTo(200);
    assertThat(send(intentEvent(again, "succeeded", "succeeded", payment))).isEqualTo(200);

    assertThat(fixture.status(payment)).isEqualTo("SUCCEEDED");
    assertThat(fixture.statusEvents(payment)).containsExactly("PENDING", "SUCCEEDED");
    assertThat(fixture.capturedMinor(payment)).isEqualTo(1999);
    assertThat(fixture.disposition(intent)).isEqualTo("APPLIED");
    assertThat(fixture.disposition(charge)).isEqualTo("NO_CHANGE");
    assertThat(fixture.disposition(again)).isEqualTo("NO_CHANGE");
    assertThat(fixture.cases(payment)).isEmpty();
  }

  /** Three siblings fired in parallel made three rows. */
  @Test
  void makesOneStatusChangeOfSiblingsThatComeTogether() throws Exception {
    String payment = payment();
    List<Callable<Integer>> calls = new ArrayList<>();
    for (int i = 0; i < 7; i++) {
      calls.add(() -> send(intentEvent(newEventId(), "succeeded", "succeeded", payment)));
      calls.add(() -> send(chargeEvent(newEventId(), payment)));
      calls.add(() -> send(intentEvent(newEventId(), "processing", "processing", payment)));
    }
    ExecutorService pool = Executors.newFixedThreadPool(calls.size());
    try {
      for (Future<Integer> call : pool.invokeAll(calls)) {
        assertThat(call.get()).isEqualTo(200);
      }
    } finally {
      pool.shutdownNow();
    }

    assertThat(fixture.statusEvents(payment)).containsExactly("PENDING", "SUCCEEDED");
    assertThat(fixture.capturedMinor(payment)).isEqualTo(1999);
    assertThat(fixture.cases(payment)).isEmpty();
  }

  @Test
  void callsAnotherCountOfPendingWebhooksADuplicateAndAnotherAmountACase() {
    String payment = payment();
    String id = newEventId();
    String body = intentEvent(id, "succeeded", "succeeded", payment);
    send(body);

    assertThat(send(body.replace("\"pending_webhooks\":1", "\"pending_webhooks\":0")))
        .isEqualTo(200);
    assertThat(fixture.cases(payment)).isEmpty();

    assertThat(send(body.replace("1999", "999"))).isEqualTo(200);
    assertThat(fixture.cases(payment)).containsExactly("WEBHOOK_CONFLICT");
    assertThat(fixture.status(payment)).isEqualTo("SUCCEEDED");
    assertThat(fixture.capturedMinor(payment)).isEqualTo(1999);
    assertThat(
            fixture.text(
                "SELECT delivery_count FROM payrelay.provider_event WHERE event_id = ?", id))
        .isEqualTo("3");
  }

  @Test
  void findsThePaymentOfARefundAndOfADisputeByItsTransactionAndBooksEachOnce() {
    String payment = payment();
    send(intentEvent(newEventId(), "succeeded", "succeeded", payment));

    for (String type : List.of("refund.created", "refund.updated", "charge.refund.updated")) {
      assertThat(send(event(newEventId(), type, refund(payment)))).isEqualTo(200);
    }
    for (String type : List.of("charge.dispute.created", "charge.dispute.funds_withdrawn")) {
      assertThat(send(event(newEventId(), type, dispute(payment, "needs_response"))))
          .isEqualTo(200);
    }

    assertThat(fixture.status(payment)).isEqualTo("SUCCEEDED");
    assertThat(fixture.cases(payment)).containsExactly("DISPUTED", "PROVIDER_REFUND");
    assertThat(
            fixture.texts(
                "SELECT kind FROM payrelay.ledger_posting WHERE payment_id = ? ORDER BY kind",
                payment))
        .containsExactly("CAPTURE", "DISPUTE", "PROVIDER_REFUND");
  }

  @Test
  void takesNewsOfOurRefundsAsTheirsWhetherOurIdIsNamedOrOnlyStripes() {
    String payment = payment();
    String refund = "ref_" + payment;
    send(intentEvent(newEventId(), "succeeded", "succeeded", payment));
    fixture.text("SELECT payrelay.request_refund(?, ?, 500, 'EUR')", refund, payment);
    String ours =
        refund(payment).replace("{}", "{\"payrelay_refund_id\":\"%s\"}".formatted(refund));
    String status = "SELECT status FROM payrelay.refund WHERE refund_id = ?";

    send(event(newEventId(), "refund.created", ours));
    assertThat(fixture.text(status, refund)).isEqualTo("SUCCEEDED");
    send(event(newEventId(), "refund.updated", refund(payment)));
    assertThat(fixture.cases(payment)).isEmpty();

    // Ours is to be asked about first; what names nobody is believed.
    String hint = newEventId();
    send(event(hint, "refund.failed", ours.replace("succeeded", "failed")));
    assertThat(fixture.disposition(hint)).isEqualTo("NO_CHANGE");
    assertThat(fixture.text(status, refund)).isEqualTo("SUCCEEDED");
    String failed = newEventId();
    send(event(failed, "refund.failed", refund(payment).replace("succeeded", "failed")));

    assertThat(fixture.disposition(failed)).isEqualTo("APPLIED");
    assertThat(fixture.text(status, refund)).isEqualTo("RETURNED");
    assertThat(fixture.cases(payment)).containsExactly("REFUND_RETURNED");
    assertThat(
            fixture.texts(
                "SELECT kind FROM payrelay.ledger_posting WHERE payment_id = ? ORDER BY kind",
                payment))
        .containsExactly("CAPTURE", "REFUND", "REFUND_RETURNED");
  }

  @Test
  void parksARefundThatOvertakesItsPaymentAndThenFindsIt() {
    String payment = payment();
    String id = newEventId();
    assertThat(send(event(id, "refund.created", refund(payment)))).isEqualTo(200);
    assertThat(fixture.disposition(id)).isEqualTo("PARKED");

    send(intentEvent(newEventId(), "succeeded", "succeeded", payment));

    await().until(() -> fixture.disposition(id).equals("APPLIED"));
    assertThat(
            fixture.text("SELECT payment_id FROM payrelay.provider_event WHERE event_id = ?", id))
        .isEqualTo(payment);
    assertThat(fixture.cases(payment)).containsExactly("PROVIDER_REFUND");
  }

  /** A declined intent can be paid again until it is cancelled. */
  @Test
  void asksStripeAfterADeclineAndFailsThePaymentOnceItIsCancelled() {
    String payment = payment();
    called(payment);

    send(
        event(
            newEventId(),
            "payment_intent.payment_failed",
            intent(payment, "requires_payment_method")
                .replace(
                    "\"object\"",
                    "\"last_payment_error\":{\"code\":\"card_declined\"},\"object\"")));

    assertThat(fixture.status(payment)).isEqualTo("PENDING");
    assertThat(queryIsDue(payment)).isTrue();

    send(intentEvent(newEventId(), "canceled", "canceled", payment));

    assertThat(fixture.status(payment)).isEqualTo("FAILED");
    assertThat(fixture.capturedMinor(payment)).isZero();
  }

  /** Checklist 3.2 number 8. */
  @Test
  void keepsEventsOfTheOtherModeForAPersonAndBelievesNothingOfThem() {
    String payment = payment();
    String id = newEventId();

    String body =
        intentEvent(id, "succeeded", "succeeded", payment)
            .replace("\"livemode\":true", "\"livemode\":false");
    assertThat(send(body)).isEqualTo(200);
    // Delivered again, it is the same event and no other case.
    assertThat(send(body.replace("\"pending_webhooks\":1", "\"pending_webhooks\":0")))
        .isEqualTo(200);

    assertThat(fixture.status(payment)).isEqualTo("CREATED");
    assertThat(fixture.disposition(id)).isEqualTo("FAILED");
    assertThat(
            fixture.text(
                "SELECT disposition_reason FROM payrelay.provider_event WHERE event_id = ?", id))
        .contains("test mode");
    assertThat(
            fixture.count(
                """
                SELECT count(*) FROM payrelay.exception_case
                WHERE kind = 'WEBHOOK_FAILED' AND evidence ->> 'event_id' = ?
                """,
                id))
        .isEqualTo(1);
  }

  @Test
  void refusesWhatStripeDidNotSign() throws Exception {
    String payment = payment();
    String body = intentEvent(newEventId(), "succeeded", "succeeded", payment);
    long now = InstantSource.system().instant().getEpochSecond();

    assertThat(send(body, "")).isEqualTo(400);
    assertThat(send(body, "t")).isEqualTo(400);
    assertThat(send(body, Webhook.Signature.generateSignatureHeader(body, "whsec_other", now)))
        .isEqualTo(401);
    // Stripe's own library takes it.
    assertThat(
            send(body, Webhook.Signature.generateSignatureHeader(body, SECRET, now + 315_360_000)))
        .isEqualTo(401);
    assertThat(fixture.status(payment)).isEqualTo("CREATED");
    assertThat(fixture.refused("stripe", "signature does not fit")).isPositive();
    assertThat(fixture.refused("stripe", "timestamp outside the window")).isPositive();
  }

  /** Checklist 3.1 number 6 and 3.2 number 8: another amount, currency or payee is not ours. */
  @ParameterizedTest
  @CsvSource({
    "AMOUNT_MISMATCH, \"amount_received\":1999, \"amount_received\":1998",
    "CURRENCY_MISMATCH, \"eur\", \"usd\"",
    "PAYEE_MISMATCH, \"currency\", '\"transfer_data\":{\"destination\":\"acct_thief\"},\"currency\"'"
  })
  void neverCallsASuccessOnOtherTermsASuccessAndAsksStripe(
      String expected, String ours, String theirs) {
    String payment = payment();
    called(payment);
    String id = newEventId();

    send(intentEvent(id, "succeeded", "succeeded", payment).replace(ours, theirs));

    assertThat(fixture.status(payment)).isEqualTo("UNKNOWN");
    assertThat(fixture.disposition(id)).isEqualTo("CONFLICT");
    assertThat(fixture.cases(payment)).containsExactly(expected);
    assertThat(queryIsDue(payment)).isTrue();
  }

  /** Checklist 3.2 number 8: an account that is connected to ours is not ours. */
  @Test
  void believesNothingOfAnotherAccount() {
    String payment = payment();
    String id = newEventId();

    send(
        intentEvent(id, "succeeded", "succeeded", payment)
            .replace("\"pending_webhooks\"", "\"account\":\"acct_other\",\"pending_webhooks\""));

    assertThat(fixture.disposition(id)).isEqualTo("FAILED");
    assertThat(fixture.status(payment)).isEqualTo("CREATED");
  }

  /** An intent that is nobody's. */
  @Test
  void parksAnIntentThatNamesNoPaymentOfOurs() {
    String id = newEventId();

    assertThat(
            send(
                intentEvent(id, "succeeded", "succeeded", "pay_gone")
                    .replace("payrelay_payment_id", "order")))
        .isEqualTo(200);

    assertThat(fixture.disposition(id)).isEqualTo("PARKED");
  }

  private static String payment() {
    return fixture.payment(
        "pay_s" + IDS.incrementAndGet() + "_" + Long.toHexString(System.nanoTime()), "stripe");
  }

  /** A charge of it was sent, and nothing is known of it yet. */
  private static void called(String payment) {
    fixture.owner.useTransaction(
        tx -> {
          new FactStore()
              .apply(
                  tx,
                  List.of(
                      Fact.plain(
                          FactSource.RESPONSE,
                          "stripe",
                          payment,
                          Observation.PENDING,
                          null,
                          InstantSource.system().instant(),
                          Map.of())),
                  InstantSource.system().instant());
          tx.createUpdate(
                  """
                  INSERT INTO payrelay.operation (payment_id, kind, provider, idempotency_key,
                    request_body, request_digest, call_count, next_action, next_action_at)
                  VALUES (:id, 'CHARGE', 'stripe', :id, '', sha256(''), 1, 'QUERY',
                    clock_timestamp() + interval '1 hour')
                  """)
              .bind("id", payment)
              .execute();
        });
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

  private static int send(String body) {
    try {
      return send(body, Webhook.Signature.generateSignatureHeader(body, SECRET));
    } catch (Exception e) {
      throw new IllegalStateException(e);
    }
  }

  private static int send(String body, String signature) {
    return fixture.send("stripe", Map.of("Stripe-Signature", signature), body).statusCode();
  }

  private static String intentEvent(String id, String type, String status, String payment) {
    return event(id, "payment_intent." + type, intent(payment, status));
  }

  private static String chargeEvent(String id, String payment) {
    return event(
        id,
        "charge.succeeded",
        """
        {"id":"ch_%1$s","object":"charge","amount":1999,"amount_captured":1999,"currency":"eur",
         "captured":true,"status":"succeeded","payment_intent":"pi_%1$s",
         "metadata":{"payrelay_payment_id":"%1$s"}}"""
            .formatted(payment));
  }

  private static String event(String id, String type, String object) {
    return """
        {"id":"%s","object":"event","api_version":"2025-09-30.clover","created":%d,"type":"%s",
         "livemode":true,"pending_webhooks":1,"request":{"id":null,"idempotency_key":null},
         "data":{"object":%s}}"""
        .formatted(id, InstantSource.system().instant().getEpochSecond(), type, object);
  }

  private static String intent(String payment, String status) {
    return """
        {"id":"pi_%1$s","object":"payment_intent","amount":1999,"amount_received":1999,
         "currency":"eur","status":"%2$s","metadata":{"payrelay_payment_id":"%1$s"}}"""
        .formatted(payment, status);
  }

  private static String refund(String payment) {
    return """
        {"id":"re_%1$s","object":"refund","amount":500,"currency":"eur","charge":"ch_%1$s",
         "payment_intent":"pi_%1$s","status":"succeeded","metadata":{}}"""
        .formatted(payment);
  }

  private static String dispute(String payment, String status) {
    return """
        {"id":"dp_%1$s","object":"dispute","amount":1999,"currency":"eur","charge":"ch_%1$s",
         "payment_intent":"pi_%1$s","status":"%2$s","metadata":{}}"""
        .formatted(payment, status);
  }
}
