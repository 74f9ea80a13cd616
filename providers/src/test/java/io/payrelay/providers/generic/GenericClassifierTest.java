package io.payrelay.providers.generic;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.payments.money.Money;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.ProviderAnswer;
import io.payrelay.providers.ProviderResult;
import io.payrelay.providers.ProviderResult.Declined;
import io.payrelay.providers.ProviderResult.KeyRefused;
import io.payrelay.providers.ProviderResult.NotFound;
import io.payrelay.providers.ProviderResult.NotProcessed;
import io.payrelay.providers.ProviderResult.Pending;
import io.payrelay.providers.ProviderResult.Succeeded;
import io.payrelay.providers.ProviderResult.Unknown;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class GenericClassifierTest {

  private static final Instant NOW = Instant.parse("2026-01-02T03:04:05Z");
  private static final String JSON = "application/json";
  private static final Money USD = new Money(1200, "USD");

  private static String charge(String id, String status, String rest) {
    return """
        {"id":"%s","merchant_transaction_id":"payment_1","status":"%s","amount":1200,"currency":"USD",
        "payee_account":"acct_1","failure_code":null,"created_at":"2026-01-02T03:04:00Z"%s}"""
        .formatted(id, status, rest);
  }

  private static String error(String type, String code) {
    return "{\"error\":{\"type\":\"%s\",\"code\":\"%s\"}}".formatted(type, code);
  }

  static Stream<Arguments> recordedAnswers() {
    String succeeded = charge("ch_1", "succeeded", "");
    return Stream.of(
        Arguments.of("succeeded", 200, JSON, succeeded, Succeeded.class),
        Arguments.of("charset", 200, "Application/JSON; charset=utf-8", succeeded, Succeeded.class),
        Arguments.of("pending", 200, JSON, charge("ch_1", "pending", ""), Pending.class),
        Arguments.of("failed", 200, JSON, charge("ch_1", "failed", ""), Declined.class),
        Arguments.of("canceled", 200, JSON, charge("ch_1", "canceled", ""), Declined.class),
        Arguments.of("new status", 200, JSON, charge("ch_1", "authorised", ""), Unknown.class),
        Arguments.of("no id", 200, JSON, charge("", "succeeded", ""), Unknown.class),
        Arguments.of("odd id", 200, JSON, charge("../x", "succeeded", ""), Unknown.class),
        Arguments.of(
            "other id", 200, JSON, succeeded.replace("payment_1", "payment_2"), Unknown.class),
        Arguments.of("no amount", 200, JSON, succeeded.replace("1200", "null"), Unknown.class),
        Arguments.of(
            "amount text", 200, JSON, succeeded.replace("1200", "\"1200\""), Unknown.class),
        Arguments.of("fraction", 200, JSON, succeeded.replace("1200", "12.5"), Unknown.class),
        Arguments.of("currency", 200, JSON, succeeded.replace("USD", "dollars"), Unknown.class),
        Arguments.of(
            "field twice", 200, JSON, charge("ch_1", "failed", ",\"id\":\"ch_2\""), Unknown.class),
        Arguments.of("truncated", 200, JSON, succeeded.substring(0, 60), Unknown.class),
        Arguments.of("two values", 200, JSON, succeeded + succeeded, Unknown.class),
        Arguments.of("array", 200, JSON, "[" + succeeded + "]", Unknown.class),
        Arguments.of("empty", 200, JSON, "", Unknown.class),
        Arguments.of("null", 200, JSON, "null", Unknown.class),
        Arguments.of("wrong type", 200, "text/html", succeeded, Unknown.class),
        Arguments.of("no type", 200, null, succeeded, Unknown.class),
        Arguments.of("too large", 200, JSON, " ".repeat(65_537), Unknown.class),
        Arguments.of("accepted", 202, JSON, succeeded, Unknown.class),
        Arguments.of("redirect", 302, JSON, succeeded, Unknown.class),
        Arguments.of("invalid", 400, JSON, error("invalid_request", "too_small"), Declined.class),
        Arguments.of("proxy 400", 400, "text/html", "<html>", Unknown.class),
        Arguments.of("other 400", 400, JSON, error("odd", "x"), Unknown.class),
        Arguments.of("key", 401, JSON, error("authentication", "x"), NotProcessed.class),
        Arguments.of("declined", 402, JSON, error("card_declined", "no_money"), Declined.class),
        Arguments.of(
            "declined, paid",
            402,
            JSON,
            "{\"error\":{\"type\":\"card_declined\"},\"charge\":" + succeeded + "}",
            Unknown.class),
        Arguments.of("payment required", 402, JSON, error("odd", "x"), Unknown.class),
        Arguments.of("forbidden", 403, JSON, error("odd", "x"), Unknown.class),
        Arguments.of("not found", 404, JSON, error("not_found", "x"), Unknown.class),
        Arguments.of("in use", 409, JSON, error("idempotency_key_in_use", "x"), Unknown.class),
        Arguments.of("mismatch", 422, JSON, error("idempotency_mismatch", "x"), KeyRefused.class),
        Arguments.of("other 422", 422, JSON, error("odd", "x"), Unknown.class),
        Arguments.of("too many", 429, "text/plain", "slow down", NotProcessed.class),
        Arguments.of("error", 500, JSON, error("api_error", "x"), Unknown.class),
        Arguments.of("proxy page", 502, "text/html", "<html>", Unknown.class),
        Arguments.of("not processed", 503, JSON, error("not_processed", "x"), NotProcessed.class),
        Arguments.of("unavailable", 503, JSON, error("unavailable", "x"), Unknown.class),
        Arguments.of("proxy 503", 503, "text/html", "<html>", Unknown.class),
        Arguments.of("gateway", 504, "text/html", "", Unknown.class));
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("recordedAnswers")
  void callsOnlyThatExecutedOrRefusedWhichIsDocumentedSo(
      String name, int status, String type, String body, Class<? extends ProviderResult> expected) {
    ProviderResult result = ofCharge(status, type, null, body);

    assertThat(result).as(name).isInstanceOf(expected);
  }

  @Test
  void readsAChargeWhole() {
    assertThat(ofCharge(200, JSON, null, charge("ch_1", "succeeded", "")))
        .isEqualTo(new Succeeded("ch_1", USD, "acct_1", Instant.parse("2026-01-02T03:04:00Z")));
    assertThat(ofCharge(200, JSON, null, charge("ch_1", "canceled", "")))
        .isEqualTo(new Declined("canceled", "ch_1", USD));
    assertThat(
            ofCharge(
                402,
                JSON,
                null,
                "{\"error\":{\"type\":\"card_declined\",\"code\":\"no_money\"},\"charge\":"
                    + charge("ch_1", "failed", "")
                    + "}"))
        .isEqualTo(new Declined("no_money", "ch_1", USD));
  }

  @Test
  void keepsCodesThatCannotBeStoredOut() {
    assertThat(ofCharge(400, JSON, null, error("invalid_request", "a\\u0000b")))
        .isEqualTo(new Declined("unspecified", null, null));
  }

  @Test
  void boundsTheTimeAProviderAsksFor() {
    assertThat(retryAfter("7")).isEqualTo(Duration.ofSeconds(7));
    assertThat(retryAfter("Fri, 02 Jan 2026 03:04:35 GMT")).isEqualTo(Duration.ofSeconds(30));
    assertThat(retryAfter("Fri, 02 Jan 2026 03:00:00 GMT")).isEqualTo(Duration.ZERO);
    assertThat(retryAfter("999999999")).isEqualTo(Duration.ofMinutes(5));
    assertThat(retryAfter("soon")).isNull();
    assertThat(retryAfter("-1")).isNull();
    assertThat(((NotProcessed) ofCharge(401, null, null, "")).reason())
        .isEqualTo(PaymentProvider.AUTHENTICATION_REFUSED);
  }

  @Test
  void hidesNoneOfSeveralChargesThatMovedMoney() {
    List<ProviderResult> results =
        ofQuery(
            charge("ch_1", "failed", ""),
            charge("ch_2", "succeeded", ""),
            charge("ch_3", "pending", ""),
            charge("ch_4", "succeeded", ""));

    assertThat(results)
        .extracting(result -> ((Succeeded) result).providerTransactionId())
        .containsExactly("ch_2", "ch_4");
  }

  @Test
  void findsWhatMayStillBePaidBeforeWhatFailed() {
    assertThat(ofQuery(charge("ch_1", "pending", ""), charge("ch_2", "failed", "")))
        .singleElement()
        .isInstanceOf(Pending.class);
    assertThat(ofQuery(charge("ch_1", "failed", ""), charge("ch_2", "canceled", "")))
        .singleElement()
        .isInstanceOf(Declined.class);
    assertThat(ofQuery()).containsExactly(new NotFound());
  }

  @Test
  void tellsADeclineThatCanStillBePaidFromOneForGood() {
    String payable = charge("ch_1", "pending", "").replace("null", "\"no_money\"");
    Declined expected = new Declined("no_money", "ch_1", USD, true);

    assertThat(ofCharge(200, JSON, null, payable)).isEqualTo(expected);
    assertThat(
            ofCharge(
                402,
                JSON,
                null,
                "{\"error\":{\"type\":\"card_declined\",\"code\":\"no_money\"},\"charge\":"
                    + payable
                    + "}"))
        .isEqualTo(expected);
    assertThat(ofQuery(payable, charge("ch_2", "failed", ""))).containsExactly(expected);
    assertThat(ofQuery(payable, charge("ch_2", "pending", "")))
        .singleElement()
        .isInstanceOf(Pending.class);
    assertThat(cancel(200, payable)).isEqualTo(expected);
  }

  @Test
  void believesNoQueryOfWhichAPartCannotBeRead() {
    assertThat(ofQuery(charge("ch_1", "failed", ""), "{\"id\":\"ch_2\"}"))
        .singleElement()
        .isInstanceOf(Unknown.class);
    for (int status : new int[] {202, 404, 500, 503}) {
      assertThat(GenericClassifier.ofQuery(answer(status, JSON, null, "{}"), "payment_1", NOW))
          .singleElement()
          .isInstanceOf(Unknown.class);
    }
  }

  @Test
  void seesACancelledChargeAsItStands() {
    assertThat(cancel(200, charge("ch_1", "canceled", ""))).isInstanceOf(Declined.class);
    assertThat(
            cancel(
                409,
                "{\"error\":{\"type\":\"already_succeeded\"},\"charge\":"
                    + charge("ch_1", "succeeded", "")
                    + "}"))
        .isInstanceOf(Succeeded.class);
    assertThat(cancel(404, error("not_found", "x"))).isInstanceOf(Unknown.class);
  }

  private static ProviderResult cancel(int status, String body) {
    return GenericClassifier.ofCancel(answer(status, JSON, null, body), "payment_1");
  }

  private static List<ProviderResult> ofQuery(String... charges) {
    String body = "{\"data\":[" + String.join(",", charges) + "]}";
    return GenericClassifier.ofQuery(answer(200, JSON, null, body), "payment_1", NOW);
  }

  private static Duration retryAfter(String header) {
    return ((NotProcessed) ofCharge(429, null, header, "")).retryAfter();
  }

  private static ProviderResult ofCharge(int status, String type, String retryAfter, String body) {
    return GenericClassifier.ofCharge(answer(status, type, retryAfter, body), "payment_1", NOW);
  }

  private static GenericAnswer answer(int status, String type, String retryAfter, String body) {
    assertThat(ProviderAnswer.BODY_BYTES_MAX).isEqualTo(65_536);
    return new GenericAnswer(status, type, retryAfter, body.getBytes(UTF_8));
  }
}
