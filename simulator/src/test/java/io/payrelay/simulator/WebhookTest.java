package io.payrelay.simulator;

import static io.payrelay.simulator.ProviderClient.json;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.standardwebhooks.Webhook;
import com.standardwebhooks.exceptions.WebhookVerificationException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class WebhookTest {
  private static final String SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

  private static SimulatorConfig.Builder config(WebhookReceiver receiver) {
    return SimulatorConfig.builder()
        .webhookUrl(receiver.url())
        .webhookSecret(SECRET)
        .pendingSettleDelay(Duration.ofMillis(100))
        .webhookLateDelay(Duration.ofMillis(500))
        .webhookRetrySchedule(List.of(Duration.ofMillis(20), Duration.ofMillis(40)));
  }

  @Test
  void settlesAPendingChargeAndSignsTheEvents() throws Exception {
    try (WebhookReceiver receiver = new WebhookReceiver();
        ProviderSimulator simulator = ProviderSimulator.start(config(receiver).build())) {
      ProviderClient client = new ProviderClient(simulator);

      String status = json(client.charge("p1", "pm_pending")).get("status").asText();
      await().until(() -> receiver.received().size() == 2);

      assertThat(status).isEqualTo("pending");
      assertThat(receiver.types()).containsExactly("charge.pending", "charge.succeeded");
      assertThat(receiver.received().get(1).body()).contains("\"status\":\"succeeded\"");
      assertThat(client.query("p1").get(0).get("status").asText()).isEqualTo("succeeded");
      Webhook verifier = new Webhook(SECRET);
      for (WebhookReceiver.Received event : receiver.received()) {
        assertThatCode(() -> verifier.verify(event.body(), event.headers()))
            .doesNotThrowAnyException();
        assertThatThrownBy(() -> verifier.verify(event.body() + " ", event.headers()))
            .isInstanceOf(WebhookVerificationException.class);
      }
    }
  }

  @Test
  void tellsOfFailureAndCancellation() throws Exception {
    try (WebhookReceiver receiver = new WebhookReceiver();
        ProviderSimulator simulator = ProviderSimulator.start(config(receiver).build())) {
      ProviderClient client = new ProviderClient(simulator);

      client.charge("p1", "pm_decline");
      client.charge("p2", "pm_pending_fail");
      await().until(() -> receiver.received().size() == 3);
      String id = json(client.charge("p3", "pm_pending")).get("id").asText();
      client.post("/v1/charges/" + id + "/cancel");
      await().until(() -> receiver.types().contains("charge.canceled"));

      assertThat(receiver.types())
          .containsExactlyInAnyOrder(
              "charge.failed",
              "charge.pending",
              "charge.failed",
              "charge.pending",
              "charge.canceled");
    }
  }

  @Test
  void retriesUnderTheSameIdUntilItIsAccepted() throws Exception {
    try (WebhookReceiver receiver = new WebhookReceiver(503, 500);
        ProviderSimulator simulator = ProviderSimulator.start(config(receiver).build())) {
      new ProviderClient(simulator).charge("p1");
      await().until(() -> simulator.stats().webhooksDelivered() == 1);

      assertThat(receiver.received()).hasSize(3);
      assertThat(receiver.received())
          .extracting(WebhookReceiver.Received::id)
          .containsOnly(receiver.received().get(0).id());
      assertThat(receiver.received())
          .extracting(WebhookReceiver.Received::body)
          .containsOnly(receiver.received().get(0).body());
      assertThat(simulator.stats().webhookAttemptsFailed()).isEqualTo(2);
    }
  }

  @Test
  void givesUpAtTheEndOfTheScheduleAndDeliversAgainOnDemand() throws Exception {
    try (WebhookReceiver receiver = new WebhookReceiver(503, 503, 503);
        ProviderSimulator simulator = ProviderSimulator.start(config(receiver).build())) {
      ProviderClient client = new ProviderClient(simulator);
      client.charge("p1");
      await().until(() -> simulator.stats().webhooksGivenUp() == 1);

      client.post("/_sim/webhooks/redeliver?merchant_transaction_id=p1");
      await().until(() -> simulator.stats().webhooksDelivered() == 1);

      assertThat(receiver.received()).hasSize(4);
      assertThat(receiver.received().get(3).id()).isEqualTo(receiver.received().get(0).id());
    }
  }

  @Test
  void losesDoublesAndDelaysOnDemand() throws Exception {
    try (WebhookReceiver receiver = new WebhookReceiver();
        ProviderSimulator simulator = ProviderSimulator.start(config(receiver).build())) {
      ProviderClient client = new ProviderClient(simulator);
      simulator.scriptWebhooks("lost", WebhookFault.LOST);
      simulator.scriptWebhooks("doubled", WebhookFault.DOUBLED);
      simulator.scriptWebhooks("other", WebhookFault.DOUBLED_OTHER_ID);
      simulator.scriptWebhooks("late", WebhookFault.LATE);

      for (String id : List.of("late", "lost", "doubled", "other")) {
        client.charge(id);
      }
      await().until(() -> simulator.stats().webhooksDelivered() == 5);

      assertThat(ids(receiver, "lost")).isEmpty();
      assertThat(ids(receiver, "doubled")).hasSize(2);
      assertThat(ids(receiver, "doubled").stream().distinct()).hasSize(1);
      assertThat(ids(receiver, "other").stream().distinct()).hasSize(2);
      assertThat(receiver.received().get(4).body()).contains("\"late\"");
      assertThat(simulator.stats().webhooksLost()).isEqualTo(1);
    }
  }

  @Test
  void letsALaterEventOvertakeAReorderedOne() throws Exception {
    try (WebhookReceiver receiver = new WebhookReceiver();
        ProviderSimulator simulator = ProviderSimulator.start(config(receiver).build())) {
      simulator.scriptWebhooks("p1", WebhookFault.REORDERED);

      new ProviderClient(simulator).charge("p1", "pm_pending");
      await().until(() -> receiver.received().size() == 2);

      assertThat(receiver.types()).containsExactly("charge.succeeded", "charge.pending");
    }
  }

  @Test
  void countsEventsWithoutATargetAndTakesOneAtRuntime() throws Exception {
    try (WebhookReceiver receiver = new WebhookReceiver();
        ProviderSimulator simulator =
            ProviderSimulator.start(config(receiver).webhookUrl(null).build())) {
      ProviderClient client = new ProviderClient(simulator);
      client.charge("p1");
      await().until(() -> simulator.stats().webhooksWithoutTarget() == 1);

      simulator.webhookTarget(receiver.url());
      client.charge("p2");
      await().until(() -> receiver.received().size() == 1);

      assertThat(receiver.received().get(0).body()).contains("\"p2\"");
    }
  }

  @Test
  void refusesASecretOutOfFormAndHidesTheGoodOne() {
    assertThatThrownBy(() -> SimulatorConfig.builder().webhookSecret("secret").build())
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> SimulatorConfig.builder().webhookSecret("whsec_AAAA").build())
        .isInstanceOf(IllegalArgumentException.class);

    assertThat(SimulatorConfig.builder().webhookSecret(SECRET).build().toString())
        .doesNotContain(SECRET)
        .doesNotContain(ProviderClient.API_KEY);
  }

  private static List<String> ids(WebhookReceiver receiver, String merchantTransactionId) {
    return receiver.received().stream()
        .filter(event -> event.body().contains("\"" + merchantTransactionId + "\""))
        .map(WebhookReceiver.Received::id)
        .toList();
  }
}
