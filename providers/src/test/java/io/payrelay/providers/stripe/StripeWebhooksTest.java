package io.payrelay.providers.stripe;

import static io.payrelay.providers.stripe.StripeObjects.charge;
import static io.payrelay.providers.stripe.StripeObjects.dispute;
import static io.payrelay.providers.stripe.StripeObjects.event;
import static io.payrelay.providers.stripe.StripeObjects.intent;
import static io.payrelay.providers.stripe.StripeObjects.ourRefund;
import static io.payrelay.providers.stripe.StripeObjects.refund;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.tuple;

import com.stripe.model.Event;
import com.stripe.model.PaymentIntent;
import com.stripe.net.Webhook;
import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.money.Money;
import io.payrelay.platform.config.Secret;
import io.payrelay.platform.config.Settings;
import io.payrelay.providers.StripeSignatures;
import io.payrelay.providers.UnreadableWebhookException;
import io.payrelay.providers.WebhookEvent;
import io.payrelay.providers.WebhookRequest;
import io.payrelay.providers.WebhookVerdict;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class StripeWebhooksTest {

  private static final String SECRET = "whsec_newSecretnewSecretnewSecretnew";
  private static final Instant NOW = Instant.parse("2026-01-02T03:04:05Z");
  private static final Instant CREATED = Instant.ofEpochSecond(StripeObjects.CREATED);

  private final StripeWebhooks webhooks = webhooks(true, "");

  @Test
  void readsAPaidIntentAsAFactWithItsMoney() throws Exception {
    WebhookEvent event = read(event("payment_intent.succeeded", intent("succeeded", "")));

    assertThat(event.eventId()).isEqualTo("evt_1");
    assertThat(event.paymentId()).isEqualTo("pay_0001");
    assertThat(event.asksProvider()).isFalse();
    assertThat(event.facts())
        .containsExactly(
            new Fact(
                FactSource.WEBHOOK,
                "stripe",
                "pay_0001",
                Observation.SUCCEEDED,
                "pi_1",
                new Money(1999, "EUR"),
                null,
                null,
                null,
                CREATED,
                Map.of(
                    "event_id",
                    "evt_1",
                    "event_type",
                    "payment_intent.succeeded",
                    "object_id",
                    "pi_1")));
  }

  @Test
  void readsWhatStripesLibraryReads() throws Exception {
    String body = event("payment_intent.succeeded", intent("succeeded", ""));
    String header = Webhook.Signature.generateSignatureHeader(body, SECRET, NOW.getEpochSecond());

    Event theirs = Webhook.constructEvent(body, header, SECRET, 0);
    PaymentIntent intent = (PaymentIntent) theirs.getDataObjectDeserializer().deserializeUnsafe();
    WebhookEvent ours = read(body);

    assertThat(webhooks.verify(request(body, header), NOW))
        .isInstanceOf(WebhookVerdict.Authentic.class);
    assertThat(ours.eventId()).isEqualTo(theirs.getId());
    assertThat(ours.eventType()).isEqualTo(theirs.getType());
    assertThat(ours.facts().get(0).providerTransactionId()).isEqualTo(intent.getId());
    assertThat(ours.facts().get(0).amount())
        .isEqualTo(new Money(intent.getAmountReceived(), "EUR"));
    assertThat(ours.paymentId()).isEqualTo(intent.getMetadata().get(StripeMetadata.PAYMENT_ID));
  }

  /** Finding 10: two events for one change come out as one fact. */
  @Test
  void saysTheSameOfTheIntentAndOfItsCharge() throws Exception {
    Fact intent = read(event("payment_intent.succeeded", intent("succeeded", ""))).facts().get(0);
    Fact charge = read(event("charge.succeeded", charge("succeeded", true, ""))).facts().get(0);

    assertThat(charge.observation()).isEqualTo(intent.observation());
    assertThat(charge.providerTransactionId()).isEqualTo(intent.providerTransactionId());
    assertThat(charge.amount()).isEqualTo(intent.amount());
    assertThat(charge.paymentId()).isEqualTo(intent.paymentId());
  }

  @ParameterizedTest
  @CsvSource({
    "created, requires_payment_method, '', PENDING, false",
    "requires_action, requires_action, '', PENDING, false",
    "processing, processing, '', PENDING, false",
    "amount_capturable_updated, requires_capture, '', PENDING, false",
    "succeeded, succeeded, '', SUCCEEDED, false",
    "canceled, canceled, ',\"cancellation_reason\":\"abandoned\"', FAILED, false",
    // A declined intent can be paid again until it is cancelled.
    "payment_failed, requires_payment_method, ',\"last_payment_error\":{\"code\":\"card_declined\"}', PENDING, true",
    "some_day, something_new, '', PENDING, false"
  })
  void readsAnIntentByItsState(
      String type, String status, String more, Observation observation, boolean asks)
      throws Exception {
    WebhookEvent event = read(event("payment_intent." + type, intent(status, more)));

    assertThat(event.facts()).singleElement().extracting(Fact::observation).isEqualTo(observation);
    assertThat(event.asksProvider()).isEqualTo(asks);
  }

  @ParameterizedTest
  @CsvSource({
    "succeeded, succeeded, true, SUCCEEDED, false",
    "succeeded, succeeded, false, PENDING, false",
    "captured, succeeded, true, SUCCEEDED, false",
    "pending, pending, false, PENDING, false",
    "updated, succeeded, true, SUCCEEDED, false",
    "failed, failed, false, PENDING, true",
    "expired, succeeded, false, PENDING, true"
  })
  void readsAChargeByItsState(
      String type, String status, boolean captured, Observation observation, boolean asks)
      throws Exception {
    WebhookEvent event = read(event("charge." + type, charge(status, captured, "")));

    assertThat(event.facts()).singleElement().extracting(Fact::observation).isEqualTo(observation);
    assertThat(event.asksProvider()).isEqualTo(asks);
  }

  @Test
  void takesAChargeWithoutAnIntentForItself() throws Exception {
    String alone = charge("failed", false, "").replace("\"pi_1\"", "null");
    WebhookEvent event =
        read(
            event(
                "charge.failed",
                alone.replace("\"paid\"", "\"failure_code\":\"expired_card\",\"paid\"")));

    assertThat(event.facts().get(0).observation()).isEqualTo(Observation.FAILED);
    assertThat(event.facts().get(0).providerTransactionId()).isEqualTo("ch_1");
    assertThat(event.facts().get(0).code()).isEqualTo("expired_card");
  }

  @Test
  void takesWhatWasCapturedForTheAmountAndNotWhatWasAskedFor() throws Exception {
    WebhookEvent event =
        read(
            event(
                "payment_intent.succeeded",
                intent("succeeded", "")
                    .replace("\"amount_received\":1999", "\"amount_received\":999")));

    assertThat(event.facts().get(0).amount()).isEqualTo(new Money(999, "EUR"));
  }

  @Test
  void namesThePayeeWhereTheMoneyGoesOn() throws Exception {
    String more = ",\"transfer_data\":{\"destination\":\"acct_7\"}";

    assertThat(read(event("payment_intent.succeeded", intent("succeeded", more))).facts().get(0))
        .extracting(Fact::payeeAccount)
        .isEqualTo("acct_7");
  }

  /** A refund's metadata are its own: whose money it gives back is told by its transaction. */
  @ParameterizedTest
  @ValueSource(strings = {"refund.created", "refund.updated", "charge.refund.updated"})
  void findsTheRefundsPaymentByItsTransaction(String type) throws Exception {
    WebhookEvent event = read(event(type, refund("succeeded")));

    assertThat(event.paymentId()).isNull();
    Fact fact = event.facts().get(0);
    assertThat(fact.observation()).isEqualTo(Observation.PROVIDER_REFUND);
    assertThat(fact.providerTransactionId()).isEqualTo("pi_1");
    assertThat(fact.reference()).isEqualTo("re_1");
    assertThat(fact.amount()).isEqualTo(new Money(500, "EUR"));
    assertThat(fact.refundId()).isNull();
  }

  @ParameterizedTest
  @CsvSource({
    "succeeded, PROVIDER_REFUND, PROVIDER_REFUND",
    "pending, PENDING, PENDING",
    "requires_action, PENDING, PENDING",
    "failed, FAILED, FAILURE_REPORTED",
    "canceled, FAILED, FAILURE_REPORTED"
  })
  void readsTheStateOfARefundAndWhoAskedForIt(String status, Observation theirs, Observation ours)
      throws Exception {
    assertThat(read(event("refund.updated", refund(status))).facts())
        .extracting(Fact::observation, Fact::reference, Fact::refundId)
        .containsExactly(tuple(theirs, "re_1", null));
    // Of those we asked for the provider's own answer decides whether they failed.
    assertThat(read(event("refund.updated", ourRefund(status))).facts())
        .extracting(Fact::observation, Fact::reference, Fact::refundId)
        .containsExactly(tuple(ours, "re_1", "ref_0001"));
  }

  @Test
  void saysOfACancelledIntentWhyItWasDeclined() throws Exception {
    String declined =
        ",\"cancellation_reason\":\"abandoned\",\"last_payment_error\":{\"code\":\"card_declined\",\"decline_code\":\"lost_card\"}";

    assertThat(read(event("payment_intent.canceled", intent("canceled", declined))).facts())
        .extracting(Fact::observation, Fact::code)
        .containsExactly(tuple(Observation.FAILED, "lost_card"));
  }

  @Test
  void readsARefundedChargeAsPaidAndTheRefundsItLists() throws Exception {
    String listed = ",\"refunded\":false,\"refunds\":{\"data\":[" + refund("succeeded") + "]}";

    assertThat(read(event("charge.refunded", charge("succeeded", true, listed))).facts())
        .extracting(Fact::observation, Fact::paymentId, Fact::reference)
        .containsExactly(
            tuple(Observation.SUCCEEDED, "pay_0001", null),
            tuple(Observation.PROVIDER_REFUND, "pay_0001", "re_1"));
    assertThat(read(event("charge.refunded", charge("succeeded", true, ""))).facts()).hasSize(1);
  }

  @Test
  void refusesAStateOfARefundThatItDoesNotKnow() {
    assertThatThrownBy(() -> read(event("refund.failed", refund("vanished"))))
        .isInstanceOf(UnreadableWebhookException.class)
        .hasMessageContaining("none that is known");
  }

  @ParameterizedTest
  @CsvSource({
    "created, needs_response, DISPUTED",
    "funds_withdrawn, needs_response, DISPUTED",
    "updated, under_review, DISPUTED",
    "closed, won, DISPUTE_WON",
    "funds_reinstated, won, DISPUTE_WON",
    "closed, lost, DISPUTE_LOST"
  })
  void readsADisputeByItsState(String type, String status, Observation observation)
      throws Exception {
    WebhookEvent event = read(event("charge.dispute." + type, dispute(status)));

    assertThat(event.paymentId()).isNull();
    assertThat(event.facts())
        .singleElement()
        .extracting(Fact::observation, Fact::providerTransactionId, Fact::reference)
        .containsExactly(observation, "pi_1", "dp_1");
  }

  @Test
  void movesNoMoneyForAnInquiryAndLeavesUnknownEndsToAPerson() throws Exception {
    assertThat(read(event("charge.dispute.created", dispute("warning_needs_response"))).facts())
        .isEmpty();
    assertThat(read(event("charge.dispute.closed", dispute("warning_closed"))).facts()).isEmpty();
    assertThatThrownBy(() -> read(event("charge.dispute.funds_reinstated", dispute("lost"))))
        .isInstanceOf(UnreadableWebhookException.class);
    assertThatThrownBy(() -> read(event("charge.dispute.closed", dispute("split"))))
        .isInstanceOf(UnreadableWebhookException.class);
  }

  /** Checklist 3.2 number 8. */
  @Test
  void refusesAnotherModeAndAnotherAccount() throws Exception {
    String body = event("payment_intent.succeeded", intent("succeeded", ""));
    String connected = body.replace("\"created\"", "\"account\":\"acct_7\",\"created\"");

    assertThatThrownBy(() -> read(webhooks(false, ""), body)).hasMessageContaining("live mode");
    assertThatThrownBy(() -> read(body.replace("\"livemode\":true", "\"livemode\":false")))
        .hasMessageContaining("test mode");
    assertThatThrownBy(() -> read(body.replace("\"livemode\":true,", "")))
        .hasMessageContaining("livemode");
    assertThatThrownBy(() -> read(connected)).hasMessageContaining("another account");
    assertThatThrownBy(() -> read(webhooks(true, "acct_7"), body))
        .hasMessageContaining("another account");
    assertThatThrownBy(() -> read(webhooks(true, "acct_8"), connected))
        .hasMessageContaining("another account");
    assertThat(read(webhooks(true, "acct_7"), connected).facts().get(0).payeeAccount())
        .isEqualTo("acct_7");
  }

  @Test
  void keepsOtherTypesWithoutReadingThem() throws Exception {
    WebhookEvent event = read(event("payout.paid", "{\"amount\":\"lots\"}"));

    assertThat(event.eventType()).isEqualTo("payout.paid");
    assertThat(event.facts()).isEmpty();
  }

  @Test
  void digestsWhatHappenedAndNotTheDelivery() throws Exception {
    String body = event("payment_intent.succeeded", intent("succeeded", ""));
    byte[] digest = read(body).businessDigest();

    assertThat(
            read(body.replace("\"pending_webhooks\":2", "\"pending_webhooks\":0")).businessDigest())
        .isEqualTo(digest);
    assertThat(read(body.replace("\"req_1\"", "null")).businessDigest()).isEqualTo(digest);
    assertThat(read(body.replace("2025-09-30.clover", "2026-01-01.x")).businessDigest())
        .isEqualTo(digest);
    for (String field :
        List.of("1999", "\"eur\"", "pay_0001", "pi_1", "" + StripeObjects.CREATED)) {
      String other = field.equals("\"eur\"") ? "\"usd\"" : field.replaceAll("[0-9]$", "8");
      assertThat(read(body.replace(field, other)).businessDigest()).as(field).isNotEqualTo(digest);
    }
  }

  @Test
  void takesMetadataThatCannotBeOursForNone() throws Exception {
    String body = event("payment_intent.succeeded", intent("succeeded", ""));

    for (String other : List.of("\"a b\"", "\"x\"", "5", "null", "\"" + "x".repeat(33) + "\"")) {
      WebhookEvent event = read(body.replace("\"pay_0001\"", other));
      assertThat(event.paymentId()).isNull();
      assertThat(event.facts().get(0).paymentId()).isEqualTo(WebhookEvent.UNNAMED);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "1999, 19.99",
    "1999, -5",
    "1999, 0",
    "1999, 99999999999999999999",
    "1999, '\"1999\"'",
    "'\"eur\"', '\"EUR\"'",
    "'\"eur\"', '\"xxx\"'",
    "'\"pi_1\"', null",
    "'\"succeeded\"', null",
    "1767323000, '\"now\"'",
    "1767323000, -9223372036854775808",
    "'\"evt_1\"', '\"\"'",
    "'\"event\"', '\"v2.core.event\"'"
  })
  void refusesAnEventWhoseFieldsCannotBeBelieved(String field, String other) {
    assertThatThrownBy(
            () ->
                read(
                    event("payment_intent.succeeded", intent("succeeded", ""))
                        .replace(field, other)))
        .isInstanceOf(UnreadableWebhookException.class);
  }

  @Test
  void isOffWithoutASecretAndForLiveModeByDefault() {
    StripeWebhookConfig config =
        StripeWebhookConfig.from(
            Settings.check(Map.of(), StripeWebhookConfig.SETTINGS, StripeWebhookConfig.SETTINGS));

    assertThat(config.secrets()).isEmpty();
    assertThat(config.liveMode()).isTrue();
    assertThat(config.tolerance()).hasMinutes(5);
  }

  @Property
  void readsOrRefusesAnyBytes(@ForAll @Size(max = 300) byte[] body) {
    assertReadsOrRefuses(body);
  }

  @Property(tries = 300)
  void readsOrRefusesDamagedBodies(
      @ForAll int position, @ForAll char character, @ForAll String inserted) {
    for (String body :
        List.of(
            event("payment_intent.payment_failed", intent("canceled", "")),
            event(
                "charge.refunded",
                charge("succeeded", true, ",\"refunds\":{\"data\":[" + refund("succeeded") + "]}")),
            event("charge.dispute.closed", dispute("lost")))) {
      int at = Math.floorMod(position, body.length());
      assertReadsOrRefuses(
          (body.substring(0, at) + character + body.substring(at + 1)).getBytes(UTF_8));
      assertReadsOrRefuses((body.substring(0, at) + inserted + body.substring(at)).getBytes(UTF_8));
      assertReadsOrRefuses(body.substring(0, at).getBytes(UTF_8));
    }
  }

  private void assertReadsOrRefuses(byte[] body) {
    try {
      assertThat(webhooks.read(new WebhookRequest(Map.of(), body), NOW).businessDigest())
          .hasSize(32);
    } catch (UnreadableWebhookException e) {
      assertThat(e).hasMessageNotContaining("pay_0001").hasMessageNotContaining("pi_1");
    }
  }

  private WebhookEvent read(String body) throws UnreadableWebhookException {
    return read(webhooks, body);
  }

  private static WebhookEvent read(StripeWebhooks webhooks, String body)
      throws UnreadableWebhookException {
    return webhooks.read(request(body, "none"), NOW);
  }

  private static WebhookRequest request(String body, String header) {
    return new WebhookRequest(Map.of(StripeSignatures.SIGNATURE, header), body.getBytes(UTF_8));
  }

  private static StripeWebhooks webhooks(boolean liveMode, String account) {
    return new StripeWebhooks(
        new StripeWebhookConfig(
            List.of(new Secret(SECRET)), Duration.ofMinutes(5), liveMode, account));
  }
}
