package io.payrelay.providers.generic;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.payments.money.Money;
import io.payrelay.providers.ProviderRefund;
import io.payrelay.providers.ProviderRefund.Status;
import io.payrelay.providers.ProviderResult;
import io.payrelay.providers.ProviderResult.Succeeded;
import io.payrelay.providers.http.HttpAnswer;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class GenericRefundsTest {

  private static final Instant NOW = Instant.parse("2026-01-02T03:04:05Z");

  // Source: Alipay TRADE_CLOSED after a full refund, WeChat trade_state REFUND (paid, and given
  // back since).
  @Test
  void readsWhatWasGivenBackOfEachChargeThatMovedMoney() {
    HttpAnswer answer =
        answer(
            charge("ch_1", "failed", refund("re_0", "ch_1", "succeeded")),
            charge(
                "ch_2",
                "succeeded",
                refund("re_1", "ch_2", "succeeded"),
                refund("re_2", "ch_2", "pending").replace("\"refund_1\"", "null"),
                refund("re_3", "ch_2", "failed")),
            charge("ch_3", "succeeded", refund("re_4", "ch_3", "succeeded")));

    assertThat(read(answer))
        .containsExactly(
            given("ch_2", "re_1", "refund_1", Status.SUCCEEDED, null),
            given("ch_2", "re_2", null, Status.PENDING, null),
            given("ch_2", "re_3", "refund_1", Status.FAILED, "account_closed"),
            given("ch_3", "re_4", "refund_1", Status.SUCCEEDED, null));
  }

  @Test
  void doubtsNoChargeForARefundThatCannotBeRead() {
    String good = refund("re_1", "ch_1", "succeeded");
    HttpAnswer answer =
        answer(
            charge(
                "ch_1",
                "succeeded",
                "7",
                refund("../x", "ch_1", "succeeded"),
                refund("re_2", "ch_2", "succeeded"),
                refund("re_3", "ch_1", "returned"),
                good.replace("re_1", "re_4").replace("500", "0"),
                good.replace("re_1", "re_5").replace("500", "\"500\""),
                good.replace("re_1", "re_6").replace("USD", "dollars"),
                good));

    assertThat(read(answer)).extracting(ProviderRefund::providerRefundId).containsExactly("re_1");
    assertThat(GenericClassifier.ofQuery(answer, "payment_1", NOW))
        .singleElement()
        .isInstanceOf(Succeeded.class);
    assertThat(read(answer(charge("ch_1", "succeeded").replace("[]", "{}")))).isEmpty();
    assertThat(read(answer(charge("ch_1", "pending", good)))).isEmpty();
    assertThat(read(answer())).isEmpty();
  }

  private static List<ProviderRefund> read(HttpAnswer answer) {
    List<ProviderResult> results = GenericClassifier.ofQuery(answer, "payment_1", NOW);
    return GenericRefunds.of(answer, results);
  }

  private static ProviderRefund given(
      String charge, String id, String ours, Status status, String code) {
    Instant at = Instant.parse("2026-01-02T03:04:00Z");
    return new ProviderRefund(charge, id, ours, status, new Money(500, "USD"), code, at);
  }

  private static String charge(String id, String status, String... refunds) {
    return """
        {"id":"%s","merchant_transaction_id":"payment_1","status":"%s","amount":1200,"currency":"USD",
        "payee_account":null,"failure_code":null,"created_at":"2026-01-02T03:04:00Z","refunds":[%s]}"""
        .formatted(id, status, String.join(",", refunds));
  }

  private static String refund(String id, String charge, String status) {
    return """
        {"id":"%s","merchant_refund_id":"refund_1","charge":"%s","merchant_transaction_id":"payment_1",
        "status":"%s","amount":500,"currency":"USD","failure_code":"account_closed",
        "created_at":"2026-01-02T03:04:00Z"}"""
        .formatted(id, charge, status);
  }

  private static HttpAnswer answer(String... charges) {
    String body = "{\"data\":[" + String.join(",", charges) + "]}";
    return new HttpAnswer(200, Map.of("content-type", "application/json"), body.getBytes(UTF_8));
  }
}
