package io.payrelay.simulator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.awaitility.Awaitility.await;

import com.stripe.StripeClient;
import com.stripe.exception.ApiConnectionException;
import com.stripe.exception.ApiException;
import com.stripe.exception.AuthenticationException;
import com.stripe.exception.CardException;
import com.stripe.exception.IdempotencyException;
import com.stripe.exception.InvalidRequestException;
import com.stripe.exception.RateLimitException;
import com.stripe.exception.StripeException;
import com.stripe.model.Charge;
import com.stripe.model.Dispute;
import com.stripe.model.Event;
import com.stripe.model.PaymentIntent;
import com.stripe.model.Refund;
import com.stripe.net.RequestOptions;
import com.stripe.net.Webhook;
import com.stripe.param.PaymentIntentCancelParams;
import com.stripe.param.PaymentIntentConfirmParams;
import com.stripe.param.PaymentIntentCreateParams;
import com.stripe.param.PaymentIntentListParams;
import com.stripe.param.RefundCreateParams;
import com.stripe.param.RefundListParams;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Stripe's own library, unchanged, is the judge of the Stripe face. */
@Timeout(60)
class StripeFaceTest {
  private static final String SECRET = "whsec_simulated_stripe_secret_0123";

  private ProviderSimulator simulator;
  private WebhookReceiver receiver;
  private StripeClient stripe;

  @BeforeEach
  void start() throws Exception {
    receiver = new WebhookReceiver();
    simulator =
        ProviderSimulator.start(
            SimulatorConfig.builder()
                .stripeWebhookUrl(receiver.url())
                .stripeWebhookSecret(SECRET)
                .slowDelay(Duration.ofMillis(600))
                .pendingSettleDelay(Duration.ofMillis(200))
                .build());
    stripe = client(ProviderClient.API_KEY, 10_000);
  }

  @AfterEach
  void stop() {
    simulator.close();
    receiver.close();
  }

  @Test
  void createsAndConfirmsAndTellsByWebhooksThatTheLibraryVerifies() throws Exception {
    PaymentIntent intent = create("pay_0001", "pm_card_visa");

    assertThat(intent.getStatus()).isEqualTo("succeeded");
    assertThat(intent.getAmountReceived()).isEqualTo(1250);
    assertThat(intent.getLivemode()).isFalse();
    assertThat(intent.getMetadata()).containsEntry("payrelay_payment_id", "pay_0001");
    assertThat(stripe.v1().paymentIntents().retrieve(intent.getId())).isEqualTo(intent);
    Charge charge = stripe.v1().charges().retrieve(intent.getLatestCharge());
    assertThat(charge.getPaymentIntent()).isEqualTo(intent.getId());
    assertThat(charge.getCaptured()).isTrue();
    assertThat(simulator.charges())
        .singleElement()
        .matches(paid -> paid.moneyMoved() && paid.merchantTransactionId().equals("pay_0001"))
        .matches(paid -> paid.id().equals(intent.getId()) && paid.amountMinor() == 1250);
    awaitEvents("payment_intent.succeeded", "charge.succeeded");
    assertThat(told("payment_intent.succeeded", PaymentIntent.class)).isEqualTo(intent);
    assertThat(told("charge.succeeded", Charge.class).getId()).isEqualTo(charge.getId());
  }

  @Test
  void declinesWithTheBanksReasonAndCanBeTriedAgainOrCancelled() throws Exception {
    CardException declined =
        catchThrowableOfType(
            CardException.class, () -> create("pay_0001", "pm_card_visa_chargeDeclined"));

    assertThat(declined.getStatusCode()).isEqualTo(402);
    assertThat(declined.getCode()).isEqualTo("card_declined");
    assertThat(declined.getDeclineCode()).isEqualTo("generic_decline");
    PaymentIntent intent = declined.getStripeError().getPaymentIntent();
    assertThat(intent.getStatus()).isEqualTo("requires_payment_method");
    assertThat(intent.getLastPaymentError().getDeclineCode()).isEqualTo("generic_decline");
    awaitEvents("payment_intent.payment_failed", "charge.failed");
    assertThat(simulator.charges()).singleElement().matches(charge -> !charge.moneyMoved());

    PaymentIntent canceled =
        stripe
            .v1()
            .paymentIntents()
            .cancel(
                intent.getId(),
                PaymentIntentCancelParams.builder()
                    .setCancellationReason(PaymentIntentCancelParams.CancellationReason.ABANDONED)
                    .build());
    assertThat(canceled.getStatus()).isEqualTo("canceled");
    assertThat(canceled.getCancellationReason()).isEqualTo("abandoned");
    InvalidRequestException late =
        catchThrowableOfType(InvalidRequestException.class, () -> confirm(intent.getId()));
    assertThat(late.getCode()).isEqualTo("payment_intent_unexpected_state");
    assertThat(late.getStripeError().getPaymentIntent().getStatus()).isEqualTo("canceled");

    CardException second =
        catchThrowableOfType(
            CardException.class, () -> create("pay_0002", "pm_card_chargeDeclinedExpiredCard"));
    assertThat(second.getCode()).isEqualTo("expired_card");
    PaymentIntent paid = confirm(second.getStripeError().getPaymentIntent().getId());
    assertThat(paid.getStatus()).isEqualTo("succeeded");
    assertThat(paid.getLatestCharge()).endsWith("_2");
  }

  @Test
  void asksForTheCustomerOnlyWhereHeCanAct() throws Exception {
    CardException off =
        catchThrowableOfType(
            CardException.class, () -> create("pay_0001", "pm_card_authenticationRequired"));
    assertThat(off.getCode()).isEqualTo("authentication_required");

    PaymentIntent on =
        stripe
            .v1()
            .paymentIntents()
            .create(
                PaymentIntentCreateParams.builder()
                    .setAmount(1250L)
                    .setCurrency("usd")
                    .setConfirm(true)
                    .setPaymentMethod("pm_card_authenticationRequired")
                    .build());
    assertThat(on.getStatus()).isEqualTo("requires_action");
    assertThat(on.getNextAction().getType()).isEqualTo("use_stripe_sdk");
  }

  @Test
  void settlesWhatProcessesLaterEitherWay() throws Exception {
    assertThat(create("pay_0001", "pm_usBankAccount_success").getStatus()).isEqualTo("processing");
    PaymentIntent failing = create("pay_0002", "pm_usBankAccount_insufficientFunds");

    awaitEvents(
        "payment_intent.processing", "payment_intent.succeeded", "payment_intent.payment_failed");
    assertThat(stripe.v1().paymentIntents().retrieve(failing.getId()).getStatus())
        .isEqualTo("requires_payment_method");
    assertThat(simulator.charges())
        .extracting(SimulatedCharge::status)
        .containsExactly(ChargeStatus.SUCCEEDED, ChargeStatus.PENDING);
  }

  @Test
  void listsTheNewestFirstPageByPage() throws Exception {
    List<String> ids = new ArrayList<>();
    for (int i = 0; i < 7; i++) {
      ids.add(0, create("pay_000" + i, "pm_card_visa").getId());
    }
    long created = stripe.v1().paymentIntents().retrieve(ids.get(0)).getCreated();

    List<String> listed = new ArrayList<>();
    for (PaymentIntent intent :
        stripe
            .v1()
            .paymentIntents()
            .list(
                PaymentIntentListParams.builder()
                    .setLimit(3L)
                    .setCreated(
                        PaymentIntentListParams.Created.builder().setGte(created - 60).build())
                    .build())
            .autoPagingIterable()) {
      listed.add(intent.getId());
    }

    assertThat(listed).containsExactlyElementsOf(ids);
    assertThat(
            stripe
                .v1()
                .paymentIntents()
                .list(
                    PaymentIntentListParams.builder()
                        .setCreated(
                            PaymentIntentListParams.Created.builder().setGt(created + 60).build())
                        .build())
                .getData())
        .isEmpty();
    assertThatThrownBy(
            () ->
                stripe
                    .v1()
                    .paymentIntents()
                    .list(PaymentIntentListParams.builder().setLimit(101L).build()))
        .isInstanceOf(InvalidRequestException.class);
  }

  @Test
  void givesBackInPartsAndNoMore() throws Exception {
    PaymentIntent intent = create("pay_0001", "pm_card_visa");

    Refund first = refund(intent.getId(), "ref_0001", 1000L);
    assertThat(first.getStatus()).isEqualTo("succeeded");
    assertThat(first.getPaymentIntent()).isEqualTo(intent.getId());
    assertThat(stripe.v1().refunds().retrieve(first.getId())).isEqualTo(first);
    InvalidRequestException over =
        catchThrowableOfType(
            InvalidRequestException.class, () -> refund(intent.getId(), "ref_0002", 251L));
    assertThat(over.getStatusCode()).isEqualTo(400);
    Refund rest = refund(intent.getId(), "ref_0003", null);
    assertThat(rest.getAmount()).isEqualTo(250);
    InvalidRequestException none =
        catchThrowableOfType(
            InvalidRequestException.class, () -> refund(intent.getId(), "ref_0004", 1L));
    assertThat(none.getCode()).isEqualTo("charge_already_refunded");
    assertThat(
            stripe
                .v1()
                .refunds()
                .list(RefundListParams.builder().setPaymentIntent(intent.getId()).build())
                .getData())
        .containsExactly(rest, first);
    awaitEvents("refund.created", "charge.refunded");
    assertThat(stripe.v1().charges().retrieve(intent.getLatestCharge()).getRefunded()).isTrue();
    assertThat(simulator.refunds()).allMatch(SimulatedRefund::moneyReturned).hasSize(2);
  }

  @Test
  void takesARefundBackThatFailsLater() throws Exception {
    PaymentIntent intent = create("pay_0001", "pm_card_visa");
    simulator.script("ref_0001", Fault.SUCCEEDED_THEN_FAILED);
    simulator.script("ref_0002", Fault.PENDING);

    assertThat(refund(intent.getId(), "ref_0001", 1000L).getStatus()).isEqualTo("succeeded");
    assertThat(refund(intent.getId(), "ref_0002", 250L).getStatus()).isEqualTo("pending");

    awaitEvents("refund.failed", "refund.updated");
    Refund failed = told("refund.failed", Refund.class);
    assertThat(failed.getFailureReason()).isEqualTo("expired_or_canceled_card");
    assertThat(told("refund.updated", Refund.class).getStatus()).isEqualTo("succeeded");
    assertThat(refund(intent.getId(), "ref_0003", 1000L).getStatus()).isEqualTo("succeeded");
  }

  @Test
  void remembersKeysAsStripeDoes() throws Exception {
    PaymentIntent first = create("pay_0001", "pm_card_visa");
    PaymentIntent again = create("pay_0001", "pm_card_visa");
    assertThat(again).isEqualTo(first);
    assertThat(again.getLastResponse().headers().firstValue("Idempotent-Replayed"))
        .hasValue("true");

    IdempotencyException other =
        catchThrowableOfType(
            IdempotencyException.class, () -> create("pay_0001", "pm_card_mastercard"));
    assertThat(other.getStatusCode()).isEqualTo(400);
    // The same key at another endpoint is another request as well (active_merchant PR 3554,
    // stripe-ruby #598).
    assertThatThrownBy(
            () ->
                stripe
                    .v1()
                    .refunds()
                    .create(
                        RefundCreateParams.builder().setPaymentIntent(first.getId()).build(),
                        key("pay_0001")))
        .isInstanceOf(IdempotencyException.class);

    List<Integer> statuses =
        IntStream.range(0, 6).parallel().mapToObj(i -> statusOf("pay_0002", "pm_slow")).toList();
    assertThat(statuses).contains(200).contains(409).allMatch(s -> s == 200 || s == 409);
    assertThat(simulator.charges()).hasSize(2);
  }

  @Test
  void failsInTheWaysOfItsProfile() throws Exception {
    simulator.script("pay_0001", Fault.ERROR_500_AFTER, Fault.NONE);
    simulator.script("pay_0002", Fault.RATE_LIMITED);
    simulator.script("pay_0003", Fault.NOT_PROCESSED);
    simulator.script("pay_0004", Fault.HTML_502_AFTER);
    simulator.script("pay_0005", Fault.TRUNCATED_BODY);
    simulator.script("pay_0006", Fault.TIMEOUT_AFTER);

    assertThatThrownBy(() -> create("pay_0001", "pm_card_visa"))
        .isInstanceOf(ApiException.class)
        .matches(e -> ((StripeException) e).getStatusCode() == 500);
    // The 500 is kept, and replayed.
    assertThatThrownBy(() -> create("pay_0001", "pm_card_visa"))
        .isInstanceOf(ApiException.class)
        .matches(e -> ((StripeException) e).getStatusCode() == 500);
    assertThatThrownBy(() -> create("pay_0002", "pm_card_visa"))
        .isInstanceOf(RateLimitException.class);
    assertThatThrownBy(() -> create("pay_0003", "pm_card_visa"))
        .isInstanceOf(RateLimitException.class)
        .matches(e -> "lock_timeout".equals(((StripeException) e).getCode()));
    assertThatThrownBy(() -> create("pay_0004", "pm_card_visa")).isInstanceOf(ApiException.class);
    assertThatThrownBy(() -> create("pay_0005", "pm_card_visa")).isInstanceOf(ApiException.class);
    stripe = client(ProviderClient.API_KEY, 400);
    assertThatThrownBy(() -> create("pay_0006", "pm_card_visa"))
        .isInstanceOf(ApiConnectionException.class);

    assertThat(simulator.charges())
        .extracting(SimulatedCharge::merchantTransactionId)
        .containsExactly("pay_0001", "pay_0004", "pay_0005", "pay_0006");
    assertThat(create("pay_0006", "pm_card_visa").getStatus()).isEqualTo("succeeded");
    assertThat(simulator.charges()).hasSize(4).allMatch(SimulatedCharge::moneyMoved);
  }

  @Test
  void refusesWhatStripeRefuses() {
    assertThatThrownBy(
            () -> client("sk_test_somebodyelse", 10_000).v1().paymentIntents().retrieve("pi_1"))
        .isInstanceOf(AuthenticationException.class);
    assertThatThrownBy(() -> stripe.v1().paymentIntents().retrieve("pi_none"))
        .isInstanceOf(InvalidRequestException.class)
        .matches(e -> "resource_missing".equals(((StripeException) e).getCode()));
    assertThatThrownBy(() -> create("pay_0001", "pm_missing"))
        .isInstanceOf(InvalidRequestException.class);
    PaymentIntentCreateParams unknown =
        PaymentIntentCreateParams.builder()
            .setAmount(5L)
            .setCurrency("usd")
            .putExtraParam("amuont", "1")
            .build();
    assertThatThrownBy(() -> stripe.v1().paymentIntents().create(unknown))
        .isInstanceOf(InvalidRequestException.class)
        .matches(e -> "parameter_unknown".equals(((StripeException) e).getCode()));
    assertThat(simulator.charges()).isEmpty();
  }

  @Test
  void keepsTheAmountsOfOddCurrenciesInMinorUnits() throws Exception {
    assertThat(create("pay_0001", "pm_card_visa", 500, "jpy").getStatus()).isEqualTo("succeeded");
    assertThat(create("pay_0002", "pm_card_visa", 50_000, "isk").getStatus())
        .isEqualTo("succeeded");
    assertThat(create("pay_0003", "pm_card_visa", 5_120, "kwd").getStatus()).isEqualTo("succeeded");
    assertThatThrownBy(() -> create("pay_0004", "pm_card_visa", 5_124, "kwd"))
        .isInstanceOf(InvalidRequestException.class);

    assertThat(simulator.charges())
        .extracting(SimulatedCharge::amountMinor)
        .containsExactly(500L, 500L, 5_120L);
  }

  @Test
  void tellsOfDisputes() throws Exception {
    PaymentIntent intent = create("pay_0001", "pm_card_visa");

    simulator.stripeDispute(intent.getId(), "funds_withdrawn", "needs_response");

    awaitEvents("charge.dispute.funds_withdrawn");
    Dispute dispute = told("charge.dispute.funds_withdrawn", Dispute.class);
    assertThat(dispute.getPaymentIntent()).isEqualTo(intent.getId());
    assertThat(dispute.getAmount()).isEqualTo(1250);
    assertThat(dispute.getStatus()).isEqualTo("needs_response");
  }

  private static RequestOptions key(String id) {
    return RequestOptions.builder().setIdempotencyKey("key_" + id).build();
  }

  private StripeClient client(String apiKey, int readTimeoutMs) {
    URI url = simulator.stripeUrl();
    return StripeClient.builder()
        .setApiKey(apiKey)
        .setApiBase(url.toString())
        .setMaxNetworkRetries(0)
        .setReadTimeout(readTimeoutMs)
        .build();
  }

  private PaymentIntent create(String paymentId, String method) throws StripeException {
    return create(paymentId, method, 1250, "usd");
  }

  private PaymentIntent create(String paymentId, String method, long amount, String currency)
      throws StripeException {
    return stripe
        .v1()
        .paymentIntents()
        .create(
            PaymentIntentCreateParams.builder()
                .setAmount(amount)
                .setCurrency(currency)
                .setConfirm(true)
                .setOffSession(true)
                .setErrorOnRequiresAction(true)
                .setPaymentMethod(method)
                .putMetadata("payrelay_payment_id", paymentId)
                .build(),
            key(paymentId));
  }

  private int statusOf(String paymentId, String method) {
    try {
      create(paymentId, method);
      return 200;
    } catch (StripeException e) {
      return e.getStatusCode();
    }
  }

  private PaymentIntent confirm(String intentId) throws StripeException {
    return stripe
        .v1()
        .paymentIntents()
        .confirm(
            intentId,
            PaymentIntentConfirmParams.builder().setPaymentMethod("pm_card_visa").build());
  }

  private Refund refund(String intentId, String refundId, Long amount) throws StripeException {
    return stripe
        .v1()
        .refunds()
        .create(
            RefundCreateParams.builder()
                .setPaymentIntent(intentId)
                .setAmount(amount)
                .setReason(RefundCreateParams.Reason.REQUESTED_BY_CUSTOMER)
                .putMetadata("payrelay_refund_id", refundId)
                .build(),
            key(refundId));
  }

  private void awaitEvents(String... types) {
    await().until(() -> events().stream().map(Event::getType).toList().containsAll(List.of(types)));
  }

  private <T> T told(String type, Class<T> kind) {
    return events().stream()
        .filter(event -> event.getType().equals(type))
        .map(event -> kind.cast(event.getDataObjectDeserializer().getObject().orElseThrow()))
        .findFirst()
        .orElseThrow();
  }

  private List<Event> events() {
    return receiver.received().stream().map(StripeFaceTest::event).toList();
  }

  private static Event event(WebhookReceiver.Received received) {
    try {
      return Webhook.constructEvent(
          received.body(), received.headers().firstValue("Stripe-Signature").orElseThrow(), SECRET);
    } catch (StripeException e) {
      throw new AssertionError(e);
    }
  }
}
