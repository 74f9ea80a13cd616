package io.payrelay.simulator;

import static io.payrelay.simulator.ProviderClient.json;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class RefundProtocolTest {
  private ProviderSimulator simulator;
  private ProviderClient client;
  private WebhookReceiver receiver;
  private String chargeId;

  @BeforeEach
  void start() throws Exception {
    receiver = new WebhookReceiver();
    simulator =
        ProviderSimulator.start(
            SimulatorConfig.builder()
                .webhookUrl(receiver.url())
                .pendingSettleDelay(Duration.ofMillis(200))
                .build());
    client = new ProviderClient(simulator);
    chargeId = json(client.charge("payment_1")).get("id").asText();
  }

  @AfterEach
  void stop() {
    simulator.close();
    receiver.close();
  }

  @Test
  void answersARefundWithItsObject() throws Exception {
    HttpResponse<String> response = refund("refund_1", 500);

    JsonNode refund = json(response);
    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(refund.get("id").asText()).startsWith("re_");
    assertThat(refund.get("merchant_refund_id").asText()).isEqualTo("refund_1");
    assertThat(refund.get("charge").asText()).isEqualTo(chargeId);
    assertThat(refund.get("merchant_transaction_id").asText()).isEqualTo("payment_1");
    assertThat(refund.get("status").asText()).isEqualTo("succeeded");
    assertThat(refund.get("amount").asLong()).isEqualTo(500);
    assertThat(query("refund_1")).singleElement().isEqualTo(refund);
    assertThat(query("refund_2")).isEmpty();
    await().until(() -> receiver.types().contains("refund.succeeded"));
    assertThat(json(client.get("/_sim/refunds")).at("/refunds/0/money_returned").asBoolean())
        .isTrue();
  }

  @Test
  void showsWhatWasGivenBackWithTheChargeWhoeverAskedForIt() throws Exception {
    assertThat(client.query("payment_1").get(0).has("refunds")).isFalse();
    JsonNode first = json(refund("refund_1", 500));
    simulator.script("refund_2", Fault.DECLINE);
    JsonNode second = json(refund("refund_2", 100));

    assertThat(client.query("payment_1").get(0).get("refunds")).containsExactly(second, first);
    assertThat(second.get("status").asText()).isEqualTo("failed");
    for (int i = 0; i < 50; i++) {
      refund("refund_1" + i, 1);
    }
    // The newest 50: a client bounds what it reads.
    assertThat(client.query("payment_1").get(0).get("refunds")).hasSize(50).doesNotContain(first);
  }

  @Test
  void givesBackOnceForOneKey() throws Exception {
    HttpResponse<String> first = refund("refund_1", 500);
    HttpResponse<String> second = refund("refund_1", 500);
    HttpResponse<String> other = refund("refund_1", 501);

    assertThat(second.body()).isEqualTo(first.body());
    assertThat(second.headers().firstValue("Idempotent-Replayed")).hasValue("true");
    assertThat(other.statusCode()).isEqualTo(422);
    assertThat(simulator.refunds()).singleElement().matches(refund -> refund.calls() == 3);
    assertThat(simulator.stats().idsRefundedTwice()).isZero();
  }

  @Test
  void givesBackNoMoreThanWasPaid() throws Exception {
    assertRefused(refund("refund_1", 1251), "refund_exceeds_charge");
    assertThat(refund("refund_2", 1000).statusCode()).isEqualTo(200);
    assertRefused(refund("refund_3", 251), "refund_exceeds_charge");
    assertThat(refund("refund_4", 250).statusCode()).isEqualTo(200);
    assertRefused(refund("refund_5", 1), "refund_exceeds_charge");
    assertRefused(send("refund_6", "ch_none", 1, "USD"), "charge_missing");
    assertRefused(send("refund_7", chargeId, 1, "EUR"), "currency_differs");

    client.charge("payment_2", "pm_decline");
    String declined = client.query("payment_2").get(0).get("id").asText();
    assertRefused(send("refund_8", declined, 1, "USD"), "charge_not_paid");
    assertThat(simulator.refunds())
        .extracting(SimulatedRefund::amountMinor)
        .containsExactly(1000L, 250L);
  }

  @Test
  void freesTheAmountOfARefundThatFailsAfterItSucceeded() throws Exception {
    simulator.script("refund_1", Fault.SUCCEEDED_THEN_FAILED);

    assertThat(json(refund("refund_1", 1250)).get("status").asText()).isEqualTo("succeeded");
    assertRefused(refund("refund_2", 1), "refund_exceeds_charge");

    await().until(() -> receiver.types().contains("refund.failed"));
    JsonNode failed = query("refund_1").get(0);
    assertThat(failed.get("status").asText()).isEqualTo("failed");
    assertThat(failed.get("failure_code").asText()).isEqualTo("account_closed");
    assertThat(simulator.refunds())
        .singleElement()
        .matches(refund -> refund.everSucceeded() && !refund.moneyReturned());
    assertThat(refund("refund_3", 1250).statusCode()).isEqualTo(200);
  }

  @Test
  void settlesAPendingRefundLaterEitherWay() throws Exception {
    simulator.script("refund_1", Fault.PENDING);
    simulator.script("refund_2", Fault.PENDING_THEN_FAILED);
    simulator.script("refund_3", Fault.DECLINE);

    assertThat(json(refund("refund_1", 100)).get("status").asText()).isEqualTo("pending");
    assertThat(json(refund("refund_2", 100)).get("status").asText()).isEqualTo("pending");
    assertThat(json(refund("refund_3", 100)).get("status").asText()).isEqualTo("failed");

    await()
        .until(
            () ->
                receiver.types().stream().filter(type -> type.startsWith("refund.")).count() == 5);
    assertThat(simulator.refunds())
        .extracting(SimulatedRefund::status)
        .containsExactly(RefundStatus.SUCCEEDED, RefundStatus.FAILED, RefundStatus.FAILED);
  }

  @Test
  void givesBackOnceWhateverTheClientWasTold() throws Exception {
    List<Fault> faults = List.of(Fault.RESET_AFTER, Fault.ERROR_500_AFTER, Fault.RESET_BEFORE);
    for (int i = 0; i < faults.size(); i++) {
      simulator.script("refund_" + i, faults.get(i));
    }

    assertThatThrownBy(() -> refund("refund_0", 100)).isInstanceOf(IOException.class);
    assertThat(refund("refund_1", 100).statusCode()).isEqualTo(500);
    assertThatThrownBy(() -> refund("refund_2", 100)).isInstanceOf(IOException.class);
    assertThat(simulator.refunds()).hasSize(2);

    assertThat(refund("refund_0", 100).statusCode()).isEqualTo(200);
    assertThat(refund("refund_1", 100).statusCode()).isEqualTo(500);
    assertThat(refund("refund_2", 100).statusCode()).isEqualTo(200);
    assertThat(simulator.refunds()).hasSize(3);
    assertThat(query("refund_1").get(0).get("status").asText()).isEqualTo("succeeded");
  }

  @Test
  void lendsTheLastMoneyOfAChargeToOneOfManyRefunds() {
    List<Integer> statuses =
        IntStream.range(0, 12)
            .parallel()
            .mapToObj(i -> uncheckedRefund("refund_" + i))
            .sorted()
            .toList();

    assertThat(statuses).startsWith(200, 400).endsWith(400);
    assertThat(simulator.refunds()).hasSize(1);
  }

  private int uncheckedRefund(String refundId) {
    try {
      return refund(refundId, 1000).statusCode();
    } catch (IOException | InterruptedException e) {
      throw new AssertionError(e);
    }
  }

  private static void assertRefused(HttpResponse<String> response, String code) throws IOException {
    assertThat(response.statusCode()).isEqualTo(400);
    assertThat(json(response).at("/error/type").asText()).isEqualTo("invalid_request");
    assertThat(json(response).at("/error/code").asText()).isEqualTo(code);
  }

  private HttpResponse<String> refund(String refundId, long amount)
      throws IOException, InterruptedException {
    return send(refundId, chargeId, amount, "USD");
  }

  private HttpResponse<String> send(String refundId, String charge, long amount, String currency)
      throws IOException, InterruptedException {
    String body =
        "{\"merchant_refund_id\":\"%s\",\"charge\":\"%s\",\"amount\":%d,\"currency\":\"%s\"}"
            .formatted(refundId, charge, amount, currency);
    return client.send(
        client
            .request("/v1/refunds")
            .header("Idempotency-Key", "key_" + refundId)
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body))
            .build());
  }

  private JsonNode query(String refundId) throws IOException, InterruptedException {
    return json(client.get("/v1/refunds?merchant_refund_id=" + refundId)).get("data");
  }
}
