package io.payrelay.providers.stripe;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.stripe.StripeClient;
import com.stripe.model.PaymentIntent;
import com.stripe.model.Refund;
import com.stripe.param.PaymentIntentConfirmParams;
import com.stripe.param.PaymentIntentCreateParams;
import com.stripe.param.RefundCreateParams;
import com.sun.net.httpserver.HttpServer;
import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.payments.lifecycle.PaymentStatus;
import io.payrelay.payments.money.Money;
import io.payrelay.platform.config.Secret;
import io.payrelay.providers.Capabilities;
import io.payrelay.providers.ChargeCall;
import io.payrelay.providers.ChargeRef;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.Prepared;
import io.payrelay.providers.ProviderAnswer;
import io.payrelay.providers.ProviderRefund;
import io.payrelay.providers.ProviderResult;
import io.payrelay.providers.ProviderResult.Declined;
import io.payrelay.providers.ProviderResult.KeyRefused;
import io.payrelay.providers.ProviderResult.NotFound;
import io.payrelay.providers.ProviderResult.NotProcessed;
import io.payrelay.providers.ProviderResult.Pending;
import io.payrelay.providers.ProviderResult.Succeeded;
import io.payrelay.providers.ProviderResult.Unknown;
import io.payrelay.providers.RefundCall;
import io.payrelay.providers.RefundOrder;
import io.payrelay.providers.RefundRef;
import io.payrelay.simulator.ChargeStatus;
import io.payrelay.simulator.Fault;
import io.payrelay.simulator.ProviderSimulator;
import io.payrelay.simulator.QueryFault;
import io.payrelay.simulator.SimulatedCharge;
import io.payrelay.simulator.SimulatedRefund;
import io.payrelay.simulator.SimulatorConfig;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The adapter against the simulator's Stripe face, which Stripe's own library judges. */
@Timeout(60)
class StripeProviderTest {

  private static final Duration TIMEOUT = Duration.ofSeconds(10);
  private static final Money USD = new Money(1250, "USD");

  private final Instant before = Instant.now();
  private ProviderSimulator simulator;
  private StripeProvider provider;

  @BeforeEach
  void start() {
    simulator =
        ProviderSimulator.start(
            SimulatorConfig.builder().pendingSettleDelay(Duration.ofSeconds(1)).build());
    provider = provider(simulator.stripeUrl(), "", 3);
  }

  @AfterEach
  void stop() {
    provider.close();
    simulator.close();
  }

  @Test
  void chargesOnceAndSaysSoHoweverOftenItIsAsked() throws Exception {
    ProviderAnswer first = charge("pay_0001", "pm_card_visa");

    String id = succeeded(first).providerTransactionId();
    assertThat(id).startsWith("pi_");
    assertThat(succeeded(first).amount()).isEqualTo(USD);
    assertThat(charge("pay_0001", "pm_card_visa").body()).isEqualTo(first.body());
    assertThat(query("pay_0001", id).result()).isEqualTo(first.result());
    assertThat(query("pay_0001", null).result()).isEqualTo(first.result());
    assertThat(cancel("pay_0001", id).result()).isEqualTo(first.result());
    assertThat(simulator.charges())
        .singleElement()
        .matches(c -> c.moneyMoved() && c.id().equals(id));
    PaymentIntent read = stripe().v1().paymentIntents().retrieve(id);
    assertThat(read.getStatus()).isEqualTo("succeeded");
    assertThat(read.getLatestCharge()).startsWith("ch_");
  }

  @Test
  void cancelsWhatWasDeclinedBeforeItSaysSo() throws Exception {
    ProviderAnswer declined = charge("pay_0001", "pm_card_visa_chargeDeclinedInsufficientFunds");

    String id = ((Declined) declined.result()).providerTransactionId();
    assertThat(declined.result()).isEqualTo(new Declined("insufficient_funds", id, USD));
    assertThat(declined.httpStatus()).isEqualTo(402);
    assertThat(simulator.charges())
        .singleElement()
        .matches(charge -> charge.status() == ChargeStatus.CANCELED);
    assertThat(stripe().v1().paymentIntents().retrieve(id).getStatus()).isEqualTo("canceled");
    assertThat(query("pay_0001", null).result()).isEqualTo(declined.result());
    // The same key again: the decline is replayed, the intent cannot be paid any more.
    assertThat(charge("pay_0001", "pm_card_visa_chargeDeclinedInsufficientFunds").result())
        .isEqualTo(declined.result());
    ProviderAnswer absent = charge("pay_0002", "pm_card_authenticationRequired");
    assertThat(((Declined) absent.result()).code()).isEqualTo("authentication_required");
  }

  @Test
  void seesThatSomebodyPaidADeclinedIntentMeanwhile() throws Exception {
    simulator.script("pay_0001", Fault.HTML_502_AFTER);
    assertThat(charge("pay_0001", "pm_card_chargeDeclined").result()).isInstanceOf(Unknown.class);
    String id = simulator.charges().get(0).id();
    stripe()
        .v1()
        .paymentIntents()
        .confirm(id, PaymentIntentConfirmParams.builder().setPaymentMethod("pm_card_visa").build());

    // The replayed decline names the intent as it was: the cancellation sees it as it is.
    assertThat(charge("pay_0001", "pm_card_chargeDeclined").result())
        .isEqualTo(new Succeeded(id, USD, null, null));
  }

  @Test
  void findsByAQueryWhatNoAnswerTold() {
    List<Fault> faults =
        List.of(
            Fault.ERROR_500_AFTER,
            Fault.HTML_502_AFTER,
            Fault.TRUNCATED_BODY,
            Fault.RESET_AFTER,
            Fault.RESET_BEFORE);
    for (int i = 0; i < faults.size(); i++) {
      simulator.script("pay_000" + i, faults.get(i));
      assertThat(charge("pay_000" + i, "pm_card_visa").result()).isInstanceOf(Unknown.class);
    }

    for (int i = 0; i < faults.size() - 1; i++) {
      assertThat(query("pay_000" + i, null).result()).isInstanceOf(Succeeded.class);
    }
    assertThat(query("pay_0004", null).result()).isEqualTo(new NotFound());
    assertThat(query("pay_9999", "pi_none").result()).isInstanceOf(Unknown.class);
    // The 500 is what the key holds, for ever; nothing is executed by trying again.
    assertThat(charge("pay_0000", "pm_card_visa").result()).isInstanceOf(Unknown.class);
    assertThat(charge("pay_0003", "pm_card_visa").result()).isInstanceOf(Succeeded.class);
    assertThat(simulator.stats().idsChargedTwice()).isZero();
    assertThat(simulator.charges()).hasSize(4);
  }

  @Test
  void looksThroughPagesUpToItsLimitAndNeverCallsMissingWhatLiesBehind() throws Exception {
    charge("pay_0001", "pm_card_visa");
    for (int i = 0; i < 205; i++) {
      foreign();
    }

    ProviderAnswer found = query("pay_0001", null);
    assertThat(found.result()).isInstanceOf(Succeeded.class);
    // Of a page only what is ours is kept.
    assertThat(new String(found.body(), UTF_8)).contains("pay_0001").hasSizeLessThan(4_000);
    try (StripeProvider shortSighted = provider(simulator.stripeUrl(), "", 2)) {
      assertThat(
              shortSighted.query(new ChargeRef("pay_0001", null, before), TIMEOUT).join().result())
          .isInstanceOf(Unknown.class);
    }
    assertThat(query("pay_9999", null).result()).isEqualTo(new NotFound());
    // Bounded on both sides: what was made after the last call could come of it is not looked at.
    for (Duration sinceLastCall : List.of(Duration.ZERO, Duration.ofHours(2))) {
      ChargeRef charge =
          new ChargeRef("pay_0001", null, before.minusSeconds(36_000), sinceLastCall);
      assertThat(provider.query(charge, TIMEOUT).join().result())
          .isInstanceOf(sinceLastCall.isZero() ? Succeeded.class : NotFound.class);
    }
    assertThat(
            provider
                .query(new ChargeRef("pay_0001", null, before.plusSeconds(3600)), TIMEOUT)
                .join()
                .result())
        .isEqualTo(new NotFound());
  }

  @Test
  void waitsForWhatIsProcessedAndCancelsOnlyWhatCanStillBePaid() {
    simulator.script("pay_0001", Fault.PENDING_THEN_FAILED);
    ProviderAnswer pending = charge("pay_0001", "pm_card_visa");
    String id = ((Pending) pending.result()).providerTransactionId();
    assertThat(pending.result()).isEqualTo(new Pending(id, USD, null));
    // Money on its way cannot be called back.
    assertThat(cancel("pay_0001", null).result()).isEqualTo(pending.result());

    await().until(() -> !(query("pay_0001", id).result() instanceof Pending));
    assertThat(query("pay_0001", id).result())
        .isEqualTo(new Declined("insufficient_funds", id, USD));
    assertThat(simulator.charges())
        .singleElement()
        .matches(charge -> charge.status() == ChargeStatus.CANCELED);
  }

  @Test
  void sendsNothingThatIsLateAndKeepsItsPeaceWithLimits() {
    ChargeCall late =
        new ChargeCall("pay_0001", "key_1", body("pay_0001", "pm_1"), System.nanoTime(), TIMEOUT);
    assertThat(provider.charge(late).join().result())
        .isEqualTo(new NotProcessed(PaymentProvider.RETURNED_UNSENT, null));

    simulator.script("pay_0002", Fault.RATE_LIMITED, Fault.NOT_PROCESSED);
    assertThat(charge("pay_0002", "pm_card_visa").result())
        .isEqualTo(new NotProcessed("rate limited", Duration.ofSeconds(1)));
    assertThat(charge("pay_0002", "pm_card_visa").result()).isInstanceOf(NotProcessed.class);
    assertThat(charge("pay_0002", "pm_card_visa").result()).isInstanceOf(Succeeded.class);
    // stripe-java #389: the same key with another amount.
    assertThat(charge("pay_0002", "pm_card_mastercard").result()).isInstanceOf(KeyRefused.class);
    simulator.scriptQueries("pay_0002", QueryFault.UNAVAILABLE);
    String id = simulator.charges().get(0).id();
    assertThat(query("pay_0002", id).result()).isInstanceOf(Unknown.class);
    assertThat(simulator.charges()).hasSize(1).allMatch(SimulatedCharge::moneyMoved);
  }

  @Test
  void givesBackAndFindsWhatItGave() {
    String id = succeeded(charge("pay_0001", "pm_card_visa")).providerTransactionId();

    ProviderResult first = refund("ref_0001", id, 1000).result();
    assertThat(((Succeeded) first).amount()).isEqualTo(new Money(1000, "USD"));
    String refundId = ((Succeeded) first).providerTransactionId();
    assertThat(refundId).startsWith("re_");
    assertThat(queryRefund("ref_0001", id, refundId)).isEqualTo(first);
    assertThat(queryRefund("ref_0001", id, null)).isEqualTo(first);
    assertThat(queryRefund("ref_0009", id, null)).isEqualTo(new NotFound());
    assertThat(queryRefund("ref_0009", id, refundId)).isInstanceOf(Unknown.class);
    assertThat(refund("ref_0002", id, 251).result()).isInstanceOf(Declined.class);
    simulator.script("ref_0003", Fault.RESET_AFTER);
    assertThat(refund("ref_0003", id, 250).result()).isInstanceOf(Unknown.class);
    assertThat(queryRefund("ref_0003", id, null)).isInstanceOf(Succeeded.class);
    assertThat(simulator.refunds()).hasSize(2);
    assertThat(refund("ref_0004", id, 1).result())
        .isEqualTo(new Declined("charge_already_refunded", null, null));
  }

  // Source: Alipay TRADE_CLOSED after a full refund, WeChat trade_state REFUND.
  @Test
  void tellsWhatWasGivenBackOfAChargeThatAQueryFinds() throws Exception {
    simulator.script("pay_0001", Fault.RESET_AFTER);
    assertThat(charge("pay_0001", "pm_card_visa").refunds()).isEmpty();
    String id = simulator.charges().get(0).id();
    assertThat(query("pay_0001", null).refunds()).isEmpty();
    // By a person at Stripe, and by us.
    Refund theirs =
        stripe()
            .v1()
            .refunds()
            .create(RefundCreateParams.builder().setPaymentIntent(id).setAmount(1000L).build());
    String ours = succeeded(refund("ref_0001", id, 250)).providerTransactionId();

    List<ProviderAnswer> answers =
        List.of(query("pay_0001", null), query("pay_0001", id), cancel("pay_0001", id));

    for (ProviderAnswer answer : answers) {
      assertThat(answer.result()).isEqualTo(new Succeeded(id, USD, null, null));
      assertThat(answer.refunds())
          .containsExactly(
              given(id, ours, "ref_0001", 250, simulator.refunds().get(1)),
              given(id, theirs.getId(), null, 1000, simulator.refunds().get(0)));
    }
    // The two looks without an id asked for two lists each, the two with it for one.
    simulator.scriptQueries("list_7", QueryFault.UNAVAILABLE);
    simulator.scriptQueries("list_8", QueryFault.TIMEOUT);
    for (Duration timeout : List.of(TIMEOUT, Duration.ofSeconds(1))) {
      ProviderAnswer answer = provider.query(new ChargeRef("pay_0001", id, before), timeout).join();
      assertThat(answer.result()).isEqualTo(new Succeeded(id, USD, null, null));
      assertThat(answer.refunds()).isEmpty();
    }
  }

  private static ProviderRefund given(
      String transaction, String id, String ours, long minor, SimulatedRefund made) {
    return new ProviderRefund(
        transaction,
        id,
        ours,
        ProviderRefund.Status.SUCCEEDED,
        new Money(minor, "USD"),
        null,
        Instant.ofEpochSecond(made.createdAt().getEpochSecond()));
  }

  @Test
  void readsARefundThatFailsAfterItSucceeded() {
    String id = succeeded(charge("pay_0001", "pm_card_visa")).providerTransactionId();
    simulator.script("ref_0001", Fault.SUCCEEDED_THEN_FAILED);
    simulator.script("ref_0002", Fault.PENDING);

    assertThat(refund("ref_0001", id, 1000).result()).isInstanceOf(Succeeded.class);
    assertThat(refund("ref_0002", id, 100).result()).isInstanceOf(Pending.class);

    await().until(() -> queryRefund("ref_0001", id, null) instanceof Declined);
    await().until(() -> queryRefund("ref_0002", id, null) instanceof Succeeded);
    assertThat(((Declined) queryRefund("ref_0001", id, null)).code())
        .isEqualTo("expired_or_canceled_card");
  }

  @Test
  void saysWhoAsksInWhichVersionAndForWhichAccount() throws Exception {
    Map<String, List<String>> seen = new ConcurrentHashMap<>();
    HttpServer server =
        HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 8);
    server.createContext(
        "/",
        exchange -> {
          seen.putAll(exchange.getRequestHeaders());
          exchange.sendResponseHeaders(503, -1);
          exchange.close();
        });
    server.start();
    URI url = URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/");
    try (StripeProvider connected = provider(url, "acct_7", 3)) {
      ProviderAnswer answer = connected.charge(call("pay_0001", "pm_1")).join();

      assertThat(answer.result()).isInstanceOf(Unknown.class);
      assertThat(seen.get("Authorization")).containsExactly("Bearer sk_test_simulator");
      assertThat(seen.get("Stripe-version")).containsExactly(com.stripe.Stripe.API_VERSION);
      assertThat(seen.get("Stripe-account")).containsExactly("acct_7");
      assertThat(seen.get("Idempotency-key")).containsExactly("key_pay_0001");
      assertThat(seen.get("Content-type")).containsExactly("application/x-www-form-urlencoded");
    } finally {
      server.stop(0);
    }
  }

  @Test
  void declaresWhatStripePromises() {
    Capabilities capabilities = provider.capabilities();

    assertThat(capabilities.keyLifetime()).isEqualTo(Duration.ofHours(24));
    assertThat(capabilities.transactionObject()).isEqualTo("payment_intent");
    assertThat(capabilities.amounts().toProvider(new Money(500, "ISK"))).hasValue(50_000);
    assertThat(capabilities.amounts().fromProvider(50_000, "isk")).hasValue(new Money(500, "ISK"));
    assertThat(capabilities.amounts().toProvider(new Money(5_124, "KWD"))).isEmpty();
  }

  private static StripeProvider provider(URI url, String account, int pages) {
    return new StripeProvider(
        new StripeConfig(
            new Secret("sk_test_simulator"),
            url,
            false,
            account,
            Duration.ofSeconds(2),
            Duration.ZERO,
            pages),
        InstantSource.system());
  }

  private StripeClient stripe() {
    return StripeClient.builder()
        .setApiKey("sk_test_simulator")
        .setApiBase(simulator.stripeUrl().toString())
        .build();
  }

  private void foreign() throws Exception {
    stripe()
        .v1()
        .paymentIntents()
        .create(PaymentIntentCreateParams.builder().setAmount(1L).setCurrency("usd").build());
  }

  private ProviderAnswer charge(String paymentId, String method) {
    return provider.charge(call(paymentId, method)).join();
  }

  private ChargeCall call(String paymentId, String method) {
    return new ChargeCall(
        paymentId,
        "key_" + paymentId,
        body(paymentId, method),
        System.nanoTime() + TIMEOUT.toNanos(),
        TIMEOUT);
  }

  private byte[] body(String paymentId, String method) {
    Payment payment =
        new Payment(
            paymentId,
            "shop",
            "order-1",
            "stripe",
            USD,
            null,
            null,
            "{}",
            "{\"payment_method\":\"" + method + "\"}",
            null,
            PaymentStatus.CREATED,
            1,
            null,
            null,
            before);
    return ((Prepared.Ready) provider.prepareCharge(payment)).body();
  }

  private ProviderAnswer query(String paymentId, String reference) {
    return provider.query(new ChargeRef(paymentId, reference, before), TIMEOUT).join();
  }

  private ProviderAnswer cancel(String paymentId, String reference) {
    return provider.cancel(new ChargeRef(paymentId, reference, before), TIMEOUT).join();
  }

  private ProviderAnswer refund(String refundId, String transaction, long minor) {
    Prepared prepared =
        provider.prepareRefund(
            new RefundOrder(refundId, "pay_0001", transaction, new Money(minor, "USD"), null));
    return provider
        .refund(
            new RefundCall(
                refundId,
                "pay_0001",
                transaction,
                "key_" + refundId,
                ((Prepared.Ready) prepared).body(),
                System.nanoTime() + TIMEOUT.toNanos(),
                TIMEOUT))
        .join();
  }

  private ProviderResult queryRefund(String refundId, String transaction, String reference) {
    return provider
        .queryRefund(new RefundRef(refundId, "pay_0001", transaction, reference, before), TIMEOUT)
        .join()
        .result();
  }

  private static Succeeded succeeded(ProviderAnswer answer) {
    assertThat(answer.result()).isInstanceOf(Succeeded.class);
    return (Succeeded) answer.result();
  }
}
