package io.payrelay.providers.stripe;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.payments.money.Money;
import io.payrelay.providers.ProviderRefund;
import io.payrelay.providers.ProviderRefund.Status;
import io.payrelay.providers.http.HttpAnswer;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class StripeRefundsTest {

  private static final String SUCCEEDED = StripeObjects.refund("succeeded");

  @Test
  void readsEachRefundByItsStatusAndByOurIdWhereItIsNamed() {
    String whole = SUCCEEDED.replace("\"pi_1\"", "{\"id\":\"pi_1\",\"object\":\"payment_intent\"}");

    assertThat(
            read(
                SUCCEEDED,
                StripeObjects.ourRefund("pending").replace("re_1", "re_2"),
                StripeObjects.refund("requires_action").replace("re_1", "re_3"),
                StripeObjects.ourRefund("failed")
                    .replace("re_1", "re_4")
                    .replace("\"amount\"", "\"failure_reason\":\"lost_or_stolen_card\",\"amount\""),
                StripeObjects.refund("canceled").replace("re_1", "re_5"),
                whole.replace("re_1", "re_6").replace("\"amount\"", "\"created\":9,\"amount\"")))
        .containsExactly(
            given("re_1", null, Status.SUCCEEDED, null, null),
            given("re_2", "ref_0001", Status.PENDING, null, null),
            given("re_3", null, Status.PENDING, null, null),
            given("re_4", "ref_0001", Status.FAILED, "lost_or_stolen_card", null),
            given("re_5", null, Status.FAILED, "canceled", null),
            given("re_6", null, Status.SUCCEEDED, null, Instant.ofEpochSecond(9)));
  }

  @Test
  void leavesOutWhatCannotBeReadAndBelievesPagesOnly() {
    assertThat(
            read(
                "7",
                SUCCEEDED.replace("pi_1", "pi_2"),
                SUCCEEDED.replace("re_1", "../x"),
                SUCCEEDED.replace("\"refund\"", "\"charge\""),
                SUCCEEDED.replace("500", "0"),
                SUCCEEDED.replace("500", "null"),
                SUCCEEDED.replace("eur", "xxx"),
                StripeObjects.refund("on_hold")))
        .isEmpty();
    String page = page(SUCCEEDED);
    for (int status : new int[] {302, 400, 401, 403, 404, 409, 429, 500, 503}) {
      assertThat(read(status, "application/json", page)).as("status %d", status).isEmpty();
    }
    assertThat(read(200, "text/html", page)).isEmpty();
    assertThat(read(200, "application/json", page.substring(0, 60))).isEmpty();
    assertThat(read(200, "application/json", SUCCEEDED)).isEmpty();
    // Of more than a page the newest are read.
    assertThat(read(200, "application/json", page.replace("false", "true"))).hasSize(1);
  }

  private static ProviderRefund given(
      String id, String ours, Status status, String code, Instant at) {
    return new ProviderRefund("pi_1", id, ours, status, new Money(500, "EUR"), code, at);
  }

  private static String page(String... refunds) {
    return "{\"object\":\"list\",\"has_more\":false,\"url\":\"/v1/refunds\",\"data\":["
        + String.join(",", refunds)
        + "]}";
  }

  private static List<ProviderRefund> read(String... refunds) {
    return read(200, "application/json", page(refunds));
  }

  private static List<ProviderRefund> read(int status, String type, String body) {
    StripeRefunds refunds =
        new StripeRefunds(
            null,
            new StripeClassifier(true, null),
            InstantSource.system(),
            "http://localhost/v1/refunds",
            null);
    return refunds.read(
        new HttpAnswer(status, Map.of("content-type", type), body.getBytes(UTF_8)), "pi_1");
  }
}
