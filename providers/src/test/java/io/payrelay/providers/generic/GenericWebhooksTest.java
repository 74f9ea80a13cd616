package io.payrelay.providers.generic;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.money.Money;
import io.payrelay.platform.config.Secret;
import io.payrelay.providers.StandardWebhooks;
import io.payrelay.providers.UnreadableWebhookException;
import io.payrelay.providers.WebhookEvent;
import io.payrelay.providers.WebhookRequest;
import java.time.Duration;
import java.time.Instant;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class GenericWebhooksTest {

  private static final Instant NOW = Instant.parse("2026-01-02T03:04:05Z");
  private static final String SUCCEEDED =
      """
      {"type":"charge.succeeded","timestamp":"2026-01-02T03:00:00Z","data":{"id":"ch_1",
       "merchant_transaction_id":"pay_0001","status":"succeeded","amount":1999,"currency":"EUR",
       "payee_account":"acct_1","failure_code":null,"created_at":"2026-01-02T02:59:59Z"}}""";

  private final GenericWebhooks webhooks = adapter(false);

  private static GenericWebhooks adapter(boolean failuresFinal) {
    return new GenericWebhooks(
        new GenericWebhookConfig(
            "simulator",
            List.of(new Secret("whsec_" + Base64.getEncoder().encodeToString(new byte[32]))),
            Duration.ofMinutes(5),
            failuresFinal));
  }

  @Test
  void readsASuccessAsAFactWithItsMoney() throws Exception {
    WebhookEvent event = read(SUCCEEDED);

    assertThat(event.eventId()).isEqualTo("evt_1");
    assertThat(event.paymentId()).isEqualTo("pay_0001");
    assertThat(event.facts())
        .containsExactly(
            new Fact(
                FactSource.WEBHOOK,
                "simulator",
                "pay_0001",
                Observation.SUCCEEDED,
                "ch_1",
                new Money(1999, "EUR"),
                "acct_1",
                null,
                null,
                Instant.parse("2026-01-02T03:00:00Z"),
                Map.of("event_id", "evt_1", "event_type", "charge.succeeded")));
  }

  @ParameterizedTest
  @CsvSource({
    "charge.pending, PENDING",
    "charge.failed, FAILURE_REPORTED",
    "charge.canceled, FAILURE_REPORTED",
    "charge.disputed, DISPUTED",
    "charge.dispute_won, DISPUTE_WON",
    "charge.dispute_lost, DISPUTE_LOST",
    "charge.refunded, PROVIDER_REFUND"
  })
  void readsEveryDocumentedType(String type, Observation observation) throws Exception {
    WebhookEvent event =
        read(
            SUCCEEDED
                .replace("charge.succeeded", type)
                .replace(
                    "\"amount\"",
                    "\"dispute_id\":\"dp_1\",\"dispute_amount\":5,\"refund_id\":\"re_1\","
                        + "\"refund_amount\":6,\"amount\""));

    assertThat(event.facts().get(0).observation()).isEqualTo(observation);
  }

  @Test
  void takesAFailureAsFinalWhereNobodyCanBeAsked() throws Exception {
    WebhookEvent event =
        adapter(true)
            .read(
                request(SUCCEEDED.replace("charge.succeeded", "charge.failed").getBytes(UTF_8)),
                NOW);

    assertThat(event.facts().get(0).observation()).isEqualTo(Observation.FAILED);
  }

  @ParameterizedTest
  @ValueSource(strings = {"charge.disputed", "charge.dispute_won", "charge.refunded"})
  void refusesAMovementWithoutItsOwnIdAndAmount(String type) {
    assertThatThrownBy(() -> read(SUCCEEDED.replace("charge.succeeded", type)))
        .isInstanceOf(UnreadableWebhookException.class)
        .hasMessageContaining("_id");
  }

  @Test
  void takesCodeReferenceAndAmountOfWhatTheEventIsAbout() throws Exception {
    String failed =
        SUCCEEDED
            .replace("charge.succeeded", "charge.failed")
            .replace("\"failure_code\":null", "\"failure_code\":\"card_declined\"");
    String disputed =
        SUCCEEDED
            .replace("charge.succeeded", "charge.disputed")
            .replace("\"amount\"", "\"dispute_id\":\"dp_1\",\"dispute_amount\":500,\"amount\"");
    String refunded =
        SUCCEEDED
            .replace("charge.succeeded", "charge.refunded")
            .replace("\"amount\"", "\"refund_id\":\"re_1\",\"refund_amount\":600,\"amount\"");

    assertThat(read(failed).facts().get(0).code()).isEqualTo("card_declined");
    assertThat(read(SUCCEEDED.replace("charge.succeeded", "charge.canceled")).facts())
        .singleElement()
        .satisfies(fact -> assertThat(fact.code()).isEqualTo("canceled"));
    assertThat(read(disputed).facts().get(0).reference()).isEqualTo("dp_1");
    assertThat(read(disputed).facts().get(0).amount()).isEqualTo(new Money(500, "EUR"));
    assertThat(read(refunded).facts().get(0).reference()).isEqualTo("re_1");
    assertThat(read(refunded).facts().get(0).amount()).isEqualTo(new Money(600, "EUR"));
  }

  private static final String REFUND =
      """
      {"type":"refund.succeeded","timestamp":"2026-01-02T03:00:00Z","data":{"id":"re_1",
       "merchant_refund_id":"ref_0001","charge":"ch_1","merchant_transaction_id":"pay_0001",
       "status":"succeeded","amount":500,"currency":"EUR","failure_code":null}}""";

  @ParameterizedTest
  @CsvSource({
    "refund.succeeded, PROVIDER_REFUND",
    "refund.pending, PENDING",
    "refund.failed, FAILURE_REPORTED",
    "refund.canceled, FAILURE_REPORTED"
  })
  void readsARefundByItsOwnIdOursAndItsMoney(String type, Observation observation)
      throws Exception {
    assertThat(read(REFUND.replace("refund.succeeded", type)).facts())
        .containsExactly(
            new Fact(
                FactSource.WEBHOOK,
                "simulator",
                "pay_0001",
                observation,
                "ch_1",
                new Money(500, "EUR"),
                null,
                "re_1",
                type.equals("refund.canceled") ? "canceled" : null,
                Instant.parse("2026-01-02T03:00:00Z"),
                Map.of("event_id", "evt_1", "event_type", type),
                "ref_0001"));
    assertThat(read(REFUND.replace("\"merchant_refund_id\":\"ref_0001\",", "")).facts())
        .extracting(Fact::refundId)
        .containsOnlyNulls();
    for (String needed : List.of("\"id\":\"re_1\",", "\"charge\":\"ch_1\",", "\"amount\":500,")) {
      assertThatThrownBy(() -> read(REFUND.replace(needed, "")))
          .isInstanceOf(UnreadableWebhookException.class);
    }
  }

  @Test
  void keepsUnknownTypesWithoutAFact() throws Exception {
    WebhookEvent event = read("{\"type\":\"payout.paid\",\"data\":{\"amount\":\"lots\"}}");

    assertThat(event.eventType()).isEqualTo("payout.paid");
    assertThat(event.facts()).isEmpty();
  }

  @Test
  void digestsMeaningAndNotForm() throws Exception {
    byte[] digest = read(SUCCEEDED).businessDigest();
    String reordered =
        """
        { "data": {"currency":"EUR", "amount":1999, "id":"ch_1", "status":"succeeded",
          "merchant_transaction_id":"pay_0001", "created_at":"2026-01-02T02:59:59Z",
          "failure_code":null, "payee_account":"acct_1"},
          "timestamp":"2026-01-02T09:00:00Z", "type":"charge.succeeded" }""";

    assertThat(read(reordered).businessDigest()).isEqualTo(digest);
    assertThat(read(SUCCEEDED.replace("1999", "2000")).businessDigest()).isNotEqualTo(digest);
    assertThat(read(SUCCEEDED.replace("charge.succeeded", "charge.pending")).businessDigest())
        .isNotEqualTo(digest);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "null",
        "[]",
        "{\"type\":\"charge.succeeded\"",
        "{} {}",
        "{\"data\":{}}",
        "{\"type\":\"charge.succeeded\",\"type\":\"charge.failed\",\"data\":{}}",
        "{\"type\":\"charge.succeeded\",\"data\":[]}",
        "{\"type\":5,\"data\":{}}",
        "{\"type\":\"a\\u0000b\",\"data\":{}}"
      })
  void refusesWhatIsNotADocumentedBody(String body) {
    assertThatThrownBy(() -> read(body)).isInstanceOf(UnreadableWebhookException.class);
  }

  @ParameterizedTest
  @CsvSource({
    "1999, 19.99",
    "1999, -5",
    "1999, 0",
    "1999, 99999999999999999999",
    "1999, '\"1999\"'",
    "'\"EUR\"', '\"eur\"'",
    "'\"EUR\"', null",
    "'\"ch_1\"', null",
    "'\"ch_1\"', '\"a b\"'",
    "'\"pay_0001\"', null",
    "'\"2026-01-02T03:00:00Z\"', '\"yesterday\"'",
    "'\"2026-01-02T03:00:00Z\"', '\"+99999-01-01T00:00:00Z\"'"
  })
  void refusesASuccessWhoseFieldsCannotBeBelieved(String field, String other) {
    assertThatThrownBy(() -> read(SUCCEEDED.replace(field, other)))
        .isInstanceOf(UnreadableWebhookException.class);
  }

  @Test
  void refusesDepthSizeAndOtherEncodings() {
    String deep = "{\"type\":\"x\",\"data\":" + "{\"a\":".repeat(1000) + "1" + "}".repeat(1001);
    String large = "{\"type\":\"x\",\"data\":{\"a\":\"" + "a".repeat(20_000) + "\"}}";
    byte[] latin = "{\"type\":\"x\",\"data\":{\"a\":\"ü\"}}".getBytes(ISO_8859_1);

    assertThatThrownBy(() -> read(deep)).isInstanceOf(UnreadableWebhookException.class);
    assertThatThrownBy(() -> read(large)).isInstanceOf(UnreadableWebhookException.class);
    assertThatThrownBy(() -> webhooks.read(request(latin), NOW))
        .isInstanceOf(UnreadableWebhookException.class);
  }

  @Test
  void doesNotRepeatAValueInItsComplaint() {
    assertThatThrownBy(() -> read(SUCCEEDED.replace("1999", "\"4111 1111 1111 1111\"")))
        .hasMessageNotContaining("4111");
  }

  @Property
  void readsOrRefusesAnyBytes(@ForAll @Size(max = 300) byte[] body) {
    assertReadsOrRefuses(body);
  }

  @Property
  void readsOrRefusesDamagedBodies(
      @ForAll int position, @ForAll char character, @ForAll String inserted) {
    int at = Math.floorMod(position, SUCCEEDED.length());
    assertReadsOrRefuses(
        (SUCCEEDED.substring(0, at) + character + SUCCEEDED.substring(at + 1)).getBytes(UTF_8));
    assertReadsOrRefuses(
        (SUCCEEDED.substring(0, at) + inserted + SUCCEEDED.substring(at)).getBytes(UTF_8));
  }

  private void assertReadsOrRefuses(byte[] body) {
    try {
      assertThat(webhooks.read(request(body), NOW).businessDigest()).hasSize(32);
    } catch (UnreadableWebhookException e) {
      assertThat(e).hasMessageNotContaining("pay_0001");
    }
  }

  private WebhookEvent read(String body) throws UnreadableWebhookException {
    return webhooks.read(request(body.getBytes(UTF_8)), NOW);
  }

  private static WebhookRequest request(byte[] body) {
    return new WebhookRequest(Map.of(StandardWebhooks.ID, "evt_1"), body);
  }
}
