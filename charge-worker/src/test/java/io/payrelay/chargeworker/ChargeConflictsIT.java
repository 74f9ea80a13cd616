package io.payrelay.chargeworker;

import static io.payrelay.chargeworker.StubProvider.charge;
import static io.payrelay.chargeworker.StubProvider.error;
import static io.payrelay.chargeworker.StubProvider.list;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.payrelay.chargeworker.StubProvider.Kind;
import io.payrelay.chargeworker.StubProvider.Reply;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.lifecycle.PaymentStatus;
import io.payrelay.payments.store.OperationStore;
import io.payrelay.providers.ChargeCall;
import io.payrelay.providers.generic.GenericProvider;
import io.payrelay.simulator.Fault;
import io.payrelay.simulator.ProviderSimulator;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Answers that do not fit, over real HTTP. "Source" names the failure reports of which a test is
 * the kind.
 */
@Timeout(60)
class ChargeConflictsIT {

  private static final Map<String, String> FAST =
      Map.of(
          "CALL_TIMEOUT_MS", "2000",
          "LEASE_MS", "5000",
          "QUERY_DELAYS_MS", "50,100",
          "QUERY_DELAY_CAP_MS", "200",
          "RETRY_FIRST_MS", "50",
          "RETRY_CAP_MS", "100",
          "BREAKER_CALLS_MIN", "5000");

  private ChargeFixture fixture;

  @BeforeEach
  void open() throws Exception {
    fixture = new ChargeFixture();
  }

  @AfterEach
  void close() throws Exception {
    fixture.close();
  }

  // Source: cal.diy PR 30048, cartalyst/stripe #59 (what the answer echoes is compared).
  @Test
  void callsNoAnswerSucceededThatNamesOtherTerms() throws Exception {
    StubProvider stub = fixture.stub();
    fixture.worker(fixture.provider(stub), FAST);
    String amount = ChargeFixture.newId();
    String currency = ChargeFixture.newId();
    String payee = ChargeFixture.newId();
    String merchantId = ChargeFixture.newId();
    answer(stub, amount, charge(amount, "ch_1" + amount, "succeeded", 12, "USD", "acct_1", ""));
    answer(
        stub,
        currency,
        charge(currency, "ch_1" + currency, "succeeded", 1200, "EUR", "acct_1", ""));
    answer(stub, payee, charge(payee, "ch_1" + payee, "succeeded", 1200, "USD", "acct_2", ""));
    stub.on(
        merchantId,
        call ->
            Reply.json(
                200,
                call.kind() == Kind.CHARGE
                    ? charge(
                        "somebody", "ch_2" + merchantId, "succeeded", 1200, "USD", "acct_1", "")
                    : list(charge(merchantId, "succeeded", ""))));

    for (String id : List.of(amount, currency, payee, merchantId)) {
      fixture.insert(id, "pm_card");
      fixture.send(id);
    }

    awaitExceptions(amount, "AMOUNT_MISMATCH");
    awaitExceptions(currency, "CURRENCY_MISMATCH");
    awaitExceptions(payee, "PAYEE_MISMATCH");
    for (String id : List.of(amount, currency, payee)) {
      assertThat(fixture.payment(id).status()).isEqualTo(PaymentStatus.UNKNOWN);
      assertThat(fixture.nextAction(id)).isEqualTo("none");
      assertThat(stub.calls(id, Kind.CHARGE)).hasSize(1);
    }
    // An answer about another payment says nothing of this one: it is asked about.
    awaitStatus(merchantId, PaymentStatus.SUCCEEDED);
    assertThat(fixture.attempts(merchantId)).containsExactly("CALL UNKNOWN", "QUERY SUCCEEDED");
    assertThat(fixture.payment(merchantId).providerTransactionId()).isEqualTo("ch_" + merchantId);
  }

  // Source: stripe-java #389, canvas PR 243 (same key, other body).
  @Test
  void leavesARefusedKeyToAPersonAndMakesNoNewOne() throws Exception {
    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig());
    GenericProvider provider = fixture.provider(simulator);
    String id = ChargeFixture.newId();
    fixture.insert(id, "pm_card");
    byte[] other =
        """
        {"amount":1000,"currency":"USD","merchant_transaction_id":"someone_else"}"""
            .getBytes(StandardCharsets.UTF_8);
    provider
        .charge(
            new ChargeCall(
                id,
                Acceptance.idempotencyKey(id),
                other,
                System.nanoTime() + Duration.ofSeconds(10).toNanos(),
                Duration.ofSeconds(5)))
        .join();
    fixture.worker(provider, FAST);

    fixture.send(id);

    awaitExceptions(id, "KEY_REFUSED");
    fixture.send(id);
    awaitStatus(fixture.pay("pm_card"), PaymentStatus.SUCCEEDED);
    assertThat(fixture.payment(id).status()).isEqualTo(PaymentStatus.UNKNOWN);
    assertThat(fixture.attempts(id)).filteredOn(one -> one.startsWith("CALL")).hasSize(1);
    assertThat(ChargeFixture.charges(simulator, id)).isEmpty();
  }

  // Source: coreshop #2529, woocommerce #21083, woocommerce-payments PR 3118 (late success).
  @Test
  void keepsMoneyThatCameAfterAFailureForAPerson() throws Exception {
    StubProvider stub = fixture.stub();
    fixture.worker(fixture.provider(stub), FAST);
    String id = ChargeFixture.newId();
    CountDownLatch failed = new CountDownLatch(1);
    stub.on(id, call -> Reply.json(200, after(failed, charge(id, "succeeded", ""))));
    fixture.insert(id, "pm_card");

    fixture.send(id);
    await().until(() -> stub.calls(id, Kind.CHARGE).size() == 1);
    fixture.apply(id, Observation.FAILED, null);
    failed.countDown();

    awaitExceptions(id, "LATE_SUCCESS");
    assertThat(fixture.payment(id).status()).isEqualTo(PaymentStatus.FAILED);
    assertThat(fixture.value("SELECT kind FROM payrelay.ledger_posting WHERE payment_id = :id", id))
        .isEqualTo("SUSPENSE_CAPTURE");
  }

  // Source: statamic-cargo PR 195, mollie/magento2 #1047, hyperswitch #10340.
  @Test
  void changesNothingByAnAnswerThatComesAfterTheWebhook() throws Exception {
    StubProvider stub = fixture.stub();
    fixture.worker(fixture.provider(stub), FAST);
    for (String late : List.of("pending", "succeeded", "failed")) {
      String id = ChargeFixture.newId();
      CountDownLatch told = new CountDownLatch(1);
      stub.on(id, call -> Reply.json(200, after(told, charge(id, late, ""))));
      fixture.insert(id, "pm_card");

      fixture.send(id);
      await().until(() -> stub.calls(id, Kind.CHARGE).size() == 1);
      fixture.apply(id, Observation.SUCCEEDED, "ch_" + id);
      told.countDown();

      await().until(() -> fixture.nextAction(id), next -> next.equals("none"));
      assertThat(fixture.payment(id).status()).as(late).isEqualTo(PaymentStatus.SUCCEEDED);
      assertThat(fixture.exceptions(id)).isEmpty();
      assertThat(
              fixture.value(
                  "SELECT count(*)::text FROM payrelay.ledger_posting WHERE payment_id = :id", id))
          .isEqualTo("1");
      // PENDING and SUCCEEDED, once each.
      assertThat(
              fixture.value(
                  "SELECT version::text FROM payrelay.payment WHERE payment_id = :id", id))
          .isEqualTo("3");
    }
  }

  // Source: getlago PR 3223 (one provider payment for two local ones).
  @Test
  void givesOneProviderTransactionToOnePayment() throws Exception {
    StubProvider stub = fixture.stub();
    fixture.worker(fixture.provider(stub), FAST);
    String first = ChargeFixture.newId();
    String second = ChargeFixture.newId();
    for (String id : List.of(first, second)) {
      answer(stub, id, charge(id, "ch_of_both" + first, "succeeded", 1200, "USD", "acct_1", ""));
      fixture.insert(id, "pm_card");
      fixture.send(id);
    }

    await()
        .atMost(Duration.ofSeconds(20))
        .until(
            () ->
                fixture.exceptions(first).size() + fixture.exceptions(second).size() == 1
                    && fixture.nextAction(first).equals("none")
                    && fixture.nextAction(second).equals("none"));
    List<String> both = List.of(first, second);
    assertThat(fixture.count(both, PaymentStatus.SUCCEEDED)).isEqualTo(1);
    assertThat(fixture.count(both, PaymentStatus.UNKNOWN)).isEqualTo(1);
    String loser = fixture.payment(first).status() == PaymentStatus.UNKNOWN ? first : second;
    assertThat(fixture.exceptions(loser)).containsExactly("TRANSACTION_CLAIMED_TWICE");
  }

  // Source: medusa #16398; Stripe's PaymentIntent, which a decline leaves payable.
  @Test
  void cancelsWhatCanStillBePaidBeforeItCallsThePaymentFailed() throws Exception {
    StubProvider stub = fixture.stub();
    fixture.worker(fixture.provider(stub), FAST);
    String plain = ChargeFixture.newId();
    String paidMeanwhile = ChargeFixture.newId();
    String lostCancel = ChargeFixture.newId();
    stub.on(
        plain, call -> declinedAndPayable(call, Reply.json(200, charge(plain, "canceled", ""))));
    stub.on(
        paidMeanwhile,
        call ->
            declinedAndPayable(
                call,
                Reply.json(
                    409, error("already_succeeded", "x", charge(paidMeanwhile, "succeeded", "")))));
    stub.on(
        lostCancel,
        call ->
            call.kind() == Kind.QUERY && call.number() > 1
                ? Reply.json(200, list(charge(lostCancel, "canceled", "")))
                : declinedAndPayable(call, new Reply(502, "text/html", "<html>")));

    for (String id : List.of(plain, paidMeanwhile, lostCancel)) {
      fixture.insert(id, "pm_card");
      fixture.send(id);
    }

    awaitStatus(plain, PaymentStatus.FAILED);
    assertThat(fixture.payment(plain).failureCode()).isEqualTo("no_money");
    assertThat(fixture.attempts(plain)).containsExactly("CALL DECLINED", "CANCEL DECLINED");
    assertThat(
            fixture.value(
                "SELECT provider_reference FROM payrelay.operation WHERE payment_id = :id", plain))
        .isEqualTo("ch_" + plain);
    awaitStatus(paidMeanwhile, PaymentStatus.SUCCEEDED);
    assertThat(fixture.attempts(paidMeanwhile))
        .containsExactly("CALL DECLINED", "CANCEL SUCCEEDED");
    awaitStatus(lostCancel, PaymentStatus.FAILED);
    assertThat(fixture.payment(lostCancel).failureCode()).isEqualTo("no_money");
    assertThat(fixture.attempts(lostCancel))
        .containsExactly("CALL DECLINED", "CANCEL UNKNOWN", "QUERY DECLINED");
  }

  // Source: Adyen 704 at VTEX, furthemore/APIS PR 193.
  @Test
  void takesAKeyInUseForADoubtAndSendsTheSameBytesOnEveryTry() throws Exception {
    StubProvider stub = fixture.stub();
    fixture.worker(fixture.provider(stub), FAST);
    String id = ChargeFixture.newId();
    stub.on(
        id,
        call -> {
          if (call.kind() == Kind.QUERY) {
            return Reply.json(200, list());
          }
          return switch (call.number()) {
            case 1 -> Reply.json(503, error("not_processed", "x", null));
            case 2 -> Reply.json(409, error("idempotency_key_in_use", "704", null));
            case 3 -> new Reply(502, "text/html", "<html>");
            default -> Reply.json(200, charge(id, "succeeded", ""));
          };
        });
    fixture.insert(id, "pm_card");

    fixture.send(id);

    awaitStatus(id, PaymentStatus.SUCCEEDED);
    assertThat(fixture.attempts(id))
        .containsExactly(
            "CALL NOT_PROCESSED",
            "CALL UNKNOWN",
            "QUERY NOT_FOUND",
            "CALL UNKNOWN",
            "QUERY NOT_FOUND",
            "CALL SUCCEEDED");
    List<StubProvider.Call> sent = stub.calls(id, Kind.CHARGE);
    assertThat(sent).extracting(StubProvider.Call::key).containsOnly("payrelay-charge-" + id);
    assertThat(sent).extracting(StubProvider.Call::body).containsOnly(sent.get(0).body());
    // What was sent and answered is kept: bodies only.
    assertThat(
            fixture.value(
                "SELECT convert_from(request_body, 'UTF8') FROM payrelay.operation WHERE payment_id = :id",
                id))
        .isEqualTo(sent.get(0).body());
    assertThat(
            fixture.value(
                """
                SELECT convert_from(a.response_body, 'UTF8') FROM payrelay.attempt a
                JOIN payrelay.operation o USING (operation_id)
                WHERE o.payment_id = :id AND a.http_status = 502
                """,
                id))
        .isEqualTo("<html>");
  }

  // Source: woocommerce-gateway-stripe #489, akash-network/console PR 3449, square-mcp-server #31.
  @Test
  void chargesOnceHoweverOftenAnUnknownPaymentIsAskedFor() throws Exception {
    ProviderSimulator simulator =
        fixture.simulator(fixture.simulatorConfig().queryLag(Duration.ofMillis(1_500)));
    fixture.worker(
        fixture.provider(simulator.baseUrl(), Duration.ofHours(24), Duration.ofSeconds(10)),
        Map.of("CALL_TIMEOUT_MS", "600", "LEASE_MS", "5000", "QUERY_DELAYS_MS", "150"));
    String id = ChargeFixture.newId();
    simulator.script(id, Fault.TIMEOUT_AFTER);
    fixture.insert(id, "pm_card");

    fixture.send(id);
    awaitStatus(id, PaymentStatus.UNKNOWN);
    fixture.send(id);
    fixture.send(id);
    for (int i = 0; i < 2; i++) {
      fixture.workerJdbi().useTransaction(tx -> new OperationStore().queryNow(tx, List.of(id)));
    }

    // Source: luncher/alipay #14 (not found straight after the call is no answer).
    awaitStatus(id, PaymentStatus.SUCCEEDED);
    assertThat(fixture.attempts(id)).contains("QUERY NOT_FOUND");
    assertThat(ChargeFixture.charges(simulator, id))
        .singleElement()
        .satisfies(charge -> assertThat(charge.calls()).isEqualTo(1));
  }

  private static Reply declinedAndPayable(StubProvider.Call call, Reply cancelled) {
    String payable = charge(call.paymentId(), "pending", ",\"failure_code\":\"no_money\"");
    return switch (call.kind()) {
      case CHARGE -> Reply.json(402, error("card_declined", "no_money", payable));
      case QUERY -> Reply.json(200, list(payable));
      case CANCEL -> cancelled;
    };
  }

  private static String after(CountDownLatch latch, String body) {
    try {
      assertThat(latch.await(20, TimeUnit.SECONDS)).isTrue();
      return body;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return "";
    }
  }

  private static void answer(StubProvider stub, String id, String charge) {
    stub.on(id, call -> Reply.json(200, call.kind() == Kind.CHARGE ? charge : list(charge)));
  }

  private void awaitExceptions(String id, String... kinds) {
    await()
        .atMost(Duration.ofSeconds(20))
        .untilAsserted(
            () ->
                assertThat(fixture.exceptions(id))
                    .as(() -> id + " " + fixture.attempts(id) + " " + fixture.nextAction(id))
                    .containsExactly(kinds));
  }

  private void awaitStatus(String id, PaymentStatus status) {
    await()
        .atMost(Duration.ofSeconds(20))
        .untilAsserted(
            () ->
                assertThat(fixture.payment(id).status())
                    .as(() -> id + " " + fixture.attempts(id) + " " + fixture.nextAction(id))
                    .isEqualTo(status));
  }
}
