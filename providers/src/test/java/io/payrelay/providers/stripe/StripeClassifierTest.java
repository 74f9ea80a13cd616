package io.payrelay.providers.stripe;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.payments.money.Money;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.ProviderResult;
import io.payrelay.providers.ProviderResult.Declined;
import io.payrelay.providers.ProviderResult.KeyRefused;
import io.payrelay.providers.ProviderResult.NotProcessed;
import io.payrelay.providers.ProviderResult.Pending;
import io.payrelay.providers.ProviderResult.Succeeded;
import io.payrelay.providers.ProviderResult.Unknown;
import io.payrelay.providers.http.HttpAnswer;
import io.payrelay.providers.stripe.StripeClassifier.Reading;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class StripeClassifierTest {

  private static final Instant NOW = Instant.parse("2026-01-02T03:04:05Z");
  private static final String JSON = "application/json";
  private static final Money EUR = new Money(1999, "EUR");
  private static final String CARD_ERROR =
      "\"last_payment_error\":{\"type\":\"card_error\",\"code\":\"card_declined\",\"decline_code\":\"lost_card\"}";

  private final StripeClassifier classifier = new StripeClassifier(true, null);

  private static String intent(String status, String more) {
    return StripeObjects.intent(status, ",\"livemode\":true" + (more.isEmpty() ? "" : "," + more));
  }

  private static String error(String type, String code, String more) {
    return "{\"error\":{\"type\":\"%s\",\"code\":\"%s\",\"message\":\"A sentence.\"%s}}"
        .formatted(type, code, more.isEmpty() ? "" : "," + more);
  }

  static Stream<Arguments> recordedAnswers() {
    String succeeded = intent("succeeded", "");
    return Stream.of(
        Arguments.of("succeeded", 200, JSON, succeeded, Succeeded.class),
        Arguments.of("charset", 200, "application/json;charset=utf-8", succeeded, Succeeded.class),
        // Source: Alipay TRADE_CLOSED after a full refund, WeChat REFUND (paid, and given back
        // since).
        Arguments.of(
            "refunded since",
            200,
            JSON,
            intent(
                "succeeded",
                "\"latest_charge\":{\"id\":\"ch_1\",\"amount_refunded\":1999,\"refunded\":true}"),
            Succeeded.class),
        Arguments.of("processing", 200, JSON, intent("processing", ""), Pending.class),
        Arguments.of("action", 200, JSON, intent("requires_action", ""), Pending.class),
        Arguments.of("capture", 200, JSON, intent("requires_capture", ""), Pending.class),
        Arguments.of("not tried", 200, JSON, intent("requires_payment_method", ""), Pending.class),
        Arguments.of(
            "tried", 200, JSON, intent("requires_payment_method", CARD_ERROR), Declined.class),
        Arguments.of("canceled", 200, JSON, intent("canceled", ""), Declined.class),
        Arguments.of("new status", 200, JSON, intent("on_hold", ""), Unknown.class),
        Arguments.of(
            "other payment", 200, JSON, succeeded.replace("pay_0001", "pay_0002"), Unknown.class),
        Arguments.of(
            "no metadata", 200, JSON, succeeded.replace("payrelay_payment_id", "x"), Unknown.class),
        Arguments.of(
            "test mode",
            200,
            JSON,
            succeeded.replace("\"livemode\":true", "\"livemode\":false"),
            Unknown.class),
        Arguments.of("no mode", 200, JSON, StripeObjects.intent("succeeded", ""), Unknown.class),
        Arguments.of(
            "nothing received",
            200,
            JSON,
            succeeded.replace("\"amount_received\":1999", "\"amount_received\":0"),
            Unknown.class),
        Arguments.of("currency", 200, JSON, succeeded.replace("eur", "xxx"), Unknown.class),
        Arguments.of(
            "a charge", 200, JSON, StripeObjects.charge("succeeded", true, ""), Unknown.class),
        Arguments.of("truncated", 200, JSON, succeeded.substring(0, 70), Unknown.class),
        Arguments.of("empty", 200, JSON, "", Unknown.class),
        Arguments.of("array", 200, JSON, "[" + succeeded + "]", Unknown.class),
        Arguments.of("wrong type", 200, "text/html", succeeded, Unknown.class),
        Arguments.of("no type", 200, null, succeeded, Unknown.class),
        Arguments.of("too large", 200, JSON, " ".repeat(65_537), Unknown.class),
        Arguments.of("redirect", 302, "text/html", "<html>", Unknown.class),
        Arguments.of(
            "bad key", 401, JSON, error("invalid_request_error", "", ""), NotProcessed.class),
        Arguments.of(
            "may not", 403, JSON, error("invalid_request_error", "", ""), NotProcessed.class),
        Arguments.of(
            "invalid",
            400,
            JSON,
            error("invalid_request_error", "amount_too_small", ""),
            Declined.class),
        Arguments.of(
            "no method",
            404,
            JSON,
            error("invalid_request_error", "resource_missing", ""),
            Declined.class),
        Arguments.of("proxy 400", 400, "text/html", "<html>", Unknown.class),
        Arguments.of("odd 400", 400, JSON, error("api_error", "x", ""), Unknown.class),
        Arguments.of(
            "declined", 402, JSON, error("card_error", "card_declined", ""), Declined.class),
        Arguments.of("odd 402", 402, JSON, error("api_error", "x", ""), Unknown.class),
        Arguments.of(
            "other parameters", 400, JSON, error("idempotency_error", "", ""), KeyRefused.class),
        // Its type says a wrong use of the key, its status and code that our own call still runs.
        Arguments.of("in use", 409, JSON, error("idempotency_error", "", ""), Unknown.class),
        Arguments.of(
            "in use, code",
            409,
            JSON,
            error("invalid_request_error", "idempotency_key_in_use", ""),
            Unknown.class),
        Arguments.of(
            "in use, 400",
            400,
            JSON,
            error("idempotency_error", "idempotency_key_in_use", ""),
            Unknown.class),
        Arguments.of(
            "locked 409",
            409,
            JSON,
            error("invalid_request_error", "lock_timeout", ""),
            NotProcessed.class),
        Arguments.of(
            "locked 429",
            429,
            JSON,
            error("invalid_request_error", "lock_timeout", ""),
            NotProcessed.class),
        Arguments.of(
            "locked 400",
            400,
            JSON,
            error("invalid_request_error", "lock_timeout", ""),
            NotProcessed.class),
        Arguments.of(
            "limited",
            429,
            JSON,
            error("invalid_request_error", "rate_limit", ""),
            NotProcessed.class),
        Arguments.of("limited, html", 429, "text/html", "<html>", NotProcessed.class),
        Arguments.of("dependency", 424, JSON, error("api_error", "", ""), Unknown.class),
        Arguments.of("cached 500", 500, JSON, error("api_error", "", ""), Unknown.class),
        Arguments.of(
            "500, declined", 500, JSON, error("card_error", "card_declined", ""), Unknown.class),
        Arguments.of("html 502", 502, "text/html", "<html>", Unknown.class),
        Arguments.of("empty 503", 503, null, "", Unknown.class));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("recordedAnswers")
  void callsOnlyWhatIsDocumentedRefusedOrNotExecuted(
      String name, int status, String type, String body, Class<?> kind) {
    assertThat(name).isNotEmpty();
    assertThat(charge(status, type, body).result()).isInstanceOf(kind);
  }

  @Test
  void namesTheMoneyByTheIntentAndByWhatWasReceived() {
    String partly =
        intent("succeeded", "").replace("\"amount_received\":1999", "\"amount_received\":1000");

    assertThat(charge(200, JSON, intent("succeeded", "")).result())
        .isEqualTo(new Succeeded("pi_1", EUR, null, null));
    assertThat(charge(200, JSON, partly).result())
        .isEqualTo(new Succeeded("pi_1", new Money(1000, "EUR"), null, null));
    assertThat(
            charge(
                    200,
                    JSON,
                    intent("processing", "\"transfer_data\":{\"destination\":\"acct_9\"}"))
                .result())
        .isEqualTo(new Pending("pi_1", EUR, "acct_9"));
    StripeClassifier connected = new StripeClassifier(true, "acct_7");
    assertThat(
            connected
                .ofIntent(answer(200, JSON, intent("succeeded", "")), "pay_0001", NOW)
                .result())
        .isEqualTo(new Succeeded("pi_1", EUR, "acct_7", null));
  }

  @Test
  void hasADeclinedIntentCancelledBeforeItIsBelieved() {
    String open = intent("requires_payment_method", CARD_ERROR);
    String body =
        error(
            "card_error",
            "card_declined",
            "\"decline_code\":\"insufficient_funds\",\"payment_intent\":" + open);

    Reading declined = charge(402, JSON, body);
    assertThat(declined.result()).isEqualTo(new Declined("insufficient_funds", "pi_1", EUR));
    assertThat(declined.payable()).isEqualTo("pi_1");
    assertThat(declined.asLongAsPayable())
        .isEqualTo(new Declined("insufficient_funds", "pi_1", EUR, true));
    // A request that failed behind the creation of its intent leaves it open as well.
    Reading invalid =
        charge(
            400,
            JSON,
            error(
                "invalid_request_error",
                "payment_intent_invalid_parameter",
                "\"payment_intent\":" + intent("requires_confirmation", "")));
    assertThat(invalid.payable()).isEqualTo("pi_1");
    Reading queried = charge(200, JSON, open);
    assertThat(queried.result()).isEqualTo(new Declined("lost_card", "pi_1", EUR));
    assertThat(queried.payable()).isEqualTo("pi_1");
    Reading ended = charge(402, JSON, body.replace("requires_payment_method", "canceled"));
    assertThat(ended).isEqualTo(new Reading(new Declined("insufficient_funds", "pi_1", EUR)));
    Reading paid = charge(402, JSON, body.replace("requires_payment_method", "succeeded"));
    assertThat(paid.result()).isInstanceOf(Succeeded.class);
    Reading other = charge(402, JSON, body.replace("pay_0001", "pay_0002"));
    assertThat(other.result()).isInstanceOf(Unknown.class);
  }

  @Test
  void saysWhyByTheBanksCodeAndNeverByASentence() {
    assertThat(
            charge(
                    402,
                    JSON,
                    error("card_error", "card_declined", "\"decline_code\":\"lost_card\""))
                .result())
        .isEqualTo(new Declined("lost_card", null, null));
    assertThat(charge(402, JSON, error("card_error", "expired_card", "")).result())
        .isEqualTo(new Declined("expired_card", null, null));
    assertThat(
            charge(400, JSON, error("invalid_request_error", "No such thing: 4242", "")).result())
        .isEqualTo(new Declined("unspecified", null, null));
    assertThat(
            charge(200, JSON, intent("canceled", "\"cancellation_reason\":\"abandoned\"")).result())
        .isEqualTo(new Declined("abandoned", "pi_1", EUR));
  }

  @Test
  void honoursWhatTheServerAsksFor() {
    assertThat(((NotProcessed) limited(Map.of("retry-after", "7"))).retryAfter())
        .isEqualTo(Duration.ofSeconds(7));
    assertThat(
            ((NotProcessed) limited(Map.of("retry-after", "Fri, 02 Jan 2026 03:04:35 GMT")))
                .retryAfter())
        .isEqualTo(Duration.ofSeconds(30));
    assertThat(((NotProcessed) limited(Map.of())).retryAfter()).isNull();
    assertThat(limited(Map.of("stripe-should-retry", "true"))).isInstanceOf(NotProcessed.class);
    assertThat(limited(Map.of("stripe-should-retry", "false"))).isInstanceOf(Unknown.class);
    assertThat(((NotProcessed) charge(401, JSON, "").result()).reason())
        .isEqualTo(PaymentProvider.AUTHENTICATION_REFUSED);
  }

  @Test
  void believesACancellationByTheIntentAndNotByItsStatus() {
    assertThat(cancel(200, intent("canceled", ""))).isInstanceOf(Declined.class);
    assertThat(
            cancel(
                400,
                error(
                    "invalid_request_error",
                    "payment_intent_unexpected_state",
                    "\"payment_intent\":" + intent("succeeded", ""))))
        .isInstanceOf(Succeeded.class);
    assertThat(
            cancel(
                400,
                error(
                    "invalid_request_error",
                    "payment_intent_unexpected_state",
                    "\"payment_intent\":" + intent("processing", ""))))
        .isInstanceOf(Pending.class);
    assertThat(cancel(404, error("invalid_request_error", "resource_missing", "")))
        .isInstanceOf(Unknown.class);
    assertThat(cancel(500, error("api_error", "", ""))).isInstanceOf(Unknown.class);
    assertThat(cancel(429, "")).isInstanceOf(NotProcessed.class);
  }

  static Stream<Arguments> recordedRefunds() {
    String succeeded = refund("succeeded", "");
    return Stream.of(
        Arguments.of("succeeded", 200, succeeded, Succeeded.class),
        Arguments.of("pending", 200, refund("pending", ""), Pending.class),
        Arguments.of("action", 200, refund("requires_action", ""), Pending.class),
        Arguments.of("failed", 200, refund("failed", ""), Declined.class),
        Arguments.of("canceled", 200, refund("canceled", ""), Declined.class),
        Arguments.of("new status", 200, refund("on_hold", ""), Unknown.class),
        // WeChat community 00064e76: an old refund's success under a used number.
        Arguments.of("other refund", 200, succeeded.replace("ref_0001", "ref_0002"), Unknown.class),
        Arguments.of("other intent", 200, succeeded.replace("pi_1", "pi_2"), Unknown.class),
        Arguments.of("no amount", 200, succeeded.replace("500", "null"), Unknown.class),
        Arguments.of("an intent", 200, intent("succeeded", ""), Unknown.class),
        Arguments.of(
            "given back",
            400,
            error("invalid_request_error", "charge_already_refunded", ""),
            Declined.class),
        Arguments.of(
            "disputed", 400, error("invalid_request_error", "charge_disputed", ""), Declined.class),
        Arguments.of("other parameters", 400, error("idempotency_error", "", ""), KeyRefused.class),
        Arguments.of(
            "in use",
            409,
            error("invalid_request_error", "idempotency_key_in_use", ""),
            Unknown.class),
        Arguments.of("limited", 429, "", NotProcessed.class),
        Arguments.of("500", 500, error("api_error", "", ""), Unknown.class),
        Arguments.of("truncated", 200, succeeded.substring(0, 40), Unknown.class));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("recordedRefunds")
  void readsARefundByOurIdAndByWhatItGivesBack(
      String name, int status, String body, Class<?> kind) {
    assertThat(name).isNotEmpty();
    assertThat(classifier.ofRefund(answer(status, JSON, body), "ref_0001", "pi_1", NOW))
        .isInstanceOf(kind);
  }

  @Test
  void namesARefundByItsOwnId() {
    assertThat(
            classifier.ofRefund(
                answer(200, JSON, refund("succeeded", "")), "ref_0001", "pi_1", NOW))
        .isEqualTo(
            new Succeeded(
                "re_1", new Money(500, "EUR"), null, Instant.ofEpochSecond(StripeObjects.CREATED)));
    assertThat(
            classifier.ofRefund(
                answer(200, JSON, refund("failed", ",\"failure_reason\":\"lost_or_stolen_card\"")),
                "ref_0001",
                "pi_1",
                NOW))
        .isEqualTo(new Declined("lost_or_stolen_card", "re_1", new Money(500, "EUR")));
  }

  private static String refund(String status, String more) {
    return """
        {"id":"re_1","object":"refund","amount":500,"currency":"eur","charge":"ch_1","created":%d,
         "payment_intent":"pi_1","status":"%s","metadata":{"payrelay_refund_id":"ref_0001"}%s}"""
        .formatted(StripeObjects.CREATED, status, more);
  }

  private ProviderResult cancel(int status, String body) {
    return classifier.ofCancel(answer(status, JSON, body), "pay_0001", NOW);
  }

  private ProviderResult limited(Map<String, String> headers) {
    return classifier.ofIntent(new HttpAnswer(429, headers, new byte[0]), "pay_0001", NOW).result();
  }

  private Reading charge(int status, String type, String body) {
    return classifier.ofIntent(answer(status, type, body), "pay_0001", NOW);
  }

  private static HttpAnswer answer(int status, String type, String body) {
    Map<String, String> headers = new HashMap<>();
    if (type != null) {
      headers.put("content-type", type);
    }
    return new HttpAnswer(status, headers, body.getBytes(UTF_8));
  }
}
