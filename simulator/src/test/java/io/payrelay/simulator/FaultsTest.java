package io.payrelay.simulator;

import static io.payrelay.simulator.ProviderClient.errorType;
import static io.payrelay.simulator.ProviderClient.json;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.core.JsonProcessingException;
import java.io.IOException;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class FaultsTest {
  private static final Duration SHORT = Duration.ofMillis(400);
  private static final Duration SLOW = Duration.ofMillis(700);

  private ProviderSimulator simulator;
  private ProviderClient client;

  @BeforeEach
  void start() {
    simulator = ProviderSimulator.start(SimulatorConfig.builder().slowDelay(SLOW).build());
    client = new ProviderClient(simulator);
  }

  @AfterEach
  void stop() {
    simulator.close();
  }

  @Test
  void resetsBeforeProcessing() throws Exception {
    simulator.script("p1", Fault.RESET_BEFORE);

    assertThatThrownBy(() -> client.charge("p1"))
        .isInstanceOf(IOException.class)
        .isNotInstanceOf(HttpTimeoutException.class);

    assertThat(simulator.charges()).isEmpty();
    assertThat(client.charge("p1").headers().firstValue("Idempotent-Replayed")).isEmpty();
  }

  @Test
  void resetsAfterProcessingAndReplaysTheAnswer() throws Exception {
    simulator.script("p1", Fault.RESET_AFTER);

    assertThatThrownBy(() -> client.charge("p1"))
        .isInstanceOf(IOException.class)
        .isNotInstanceOf(HttpTimeoutException.class);

    assertThat(simulator.charges()).singleElement().matches(SimulatedCharge::moneyMoved);
    HttpResponse<String> retry = client.charge("p1");
    assertThat(retry.statusCode()).isEqualTo(200);
    assertThat(retry.headers().firstValue("Idempotent-Replayed")).hasValue("true");
    assertThat(simulator.charges()).hasSize(1);
  }

  @Test
  void doesNotAnswerAfterProcessingUntilTheClientGivesUp() throws Exception {
    assertThatThrownBy(() -> client.chargeWithin(SHORT, "p1", "pm_timeout_after"))
        .isInstanceOf(HttpTimeoutException.class);

    await().until(() -> simulator.hangingCalls() == 0);
    assertThat(simulator.charges()).hasSize(1);
    assertThat(client.charge("p1", "pm_timeout_after").statusCode()).isEqualTo(200);
    assertThat(simulator.charges()).hasSize(1);
  }

  @Test
  void endsAHangingCallWithAResetAtTheLongestHang() {
    try (ProviderSimulator impatient =
        ProviderSimulator.start(SimulatorConfig.builder().hangMax(SHORT).build())) {
      ProviderClient other = new ProviderClient(impatient);

      assertThatThrownBy(() -> other.charge("p1", "pm_timeout_after"))
          .isInstanceOf(IOException.class)
          .isNotInstanceOf(HttpTimeoutException.class);
    }
  }

  @Test
  void replaysA500ForEverThoughTheMoneyHasMoved() throws Exception {
    HttpResponse<String> first = client.charge("p1", "pm_500_after");
    HttpResponse<String> second = client.charge("p1", "pm_500_after");

    assertThat(first.statusCode()).isEqualTo(500);
    assertThat(second.statusCode()).isEqualTo(500);
    assertThat(second.body()).isEqualTo(first.body());
    assertThat(second.headers().firstValue("Idempotent-Replayed")).hasValue("true");
    assertThat(client.query("p1").get(0).get("status").asText()).isEqualTo("succeeded");
  }

  @Test
  void limitsTheRateWithoutExecuting() throws Exception {
    simulator.script("p1", Fault.RATE_LIMITED);

    HttpResponse<String> limited = client.charge("p1");

    assertThat(limited.statusCode()).isEqualTo(429);
    assertThat(errorType(limited)).isEqualTo("rate_limited");
    assertThat(limited.headers().firstValue("Retry-After")).hasValue("1");
    assertThat(simulator.charges()).isEmpty();
    assertThat(client.charge("p1").statusCode()).isEqualTo(200);
  }

  @Test
  void doesNotProcessTheFirstCallsOfPm503() throws Exception {
    HttpResponse<String> first = client.charge("p1", "pm_503");
    HttpResponse<String> second = client.charge("p1", "pm_503");
    assertThat(simulator.charges()).isEmpty();
    HttpResponse<String> third = client.charge("p1", "pm_503");

    assertThat(first.statusCode()).isEqualTo(503);
    assertThat(errorType(first)).isEqualTo("not_processed");
    assertThat(second.statusCode()).isEqualTo(503);
    assertThat(third.statusCode()).isEqualTo(200);
    assertThat(simulator.charges()).singleElement().matches(c -> c.calls() == 3);
  }

  @Test
  void truncatesTheJsonOfA200ButReplaysAllOfIt() throws Exception {
    simulator.script("p1", Fault.TRUNCATED_BODY);

    HttpResponse<String> truncated = client.charge("p1");

    assertThat(truncated.statusCode()).isEqualTo(200);
    assertThatThrownBy(() -> json(truncated)).isInstanceOf(JsonProcessingException.class);
    assertThat(json(client.charge("p1")).get("status").asText()).isEqualTo("succeeded");
    assertThat(simulator.charges()).hasSize(1);
  }

  @Test
  void answersWithAProxyPageAfterProcessing() throws Exception {
    simulator.script("p1", Fault.HTML_502_AFTER);

    HttpResponse<String> response = client.charge("p1");

    assertThat(response.statusCode()).isEqualTo(502);
    assertThat(response.headers().firstValue("Content-Type")).hasValue("text/html");
    assertThat(response.body()).startsWith("<html>");
    assertThat(client.charge("p1").statusCode()).isEqualTo(200);
    assertThat(simulator.charges()).hasSize(1);
  }

  @Test
  void movesTheMoneyOnlyAtTheEndOfASlowCall() throws Exception {
    assertThatThrownBy(() -> client.chargeWithin(Duration.ofMillis(200), "p1", "pm_slow"))
        .isInstanceOf(HttpTimeoutException.class);

    assertThat(client.query("p1")).isEmpty();
    await().until(() -> client.query("p1").size() == 1);
  }

  @Test
  void chargesAWrongAmountOnDemand() throws Exception {
    assertThat(json(client.charge("p1", "pm_wrong_amount")).get("amount").asLong()).isEqualTo(1251);
  }

  @Test
  void consumesAScriptOneFaultPerCall() throws Exception {
    simulator.script("p1", Fault.NOT_PROCESSED, Fault.NONE, Fault.HTML_502_AFTER);

    List<Integer> statuses =
        List.of(
            client.charge("p1").statusCode(),
            client.charge("p1").statusCode(),
            client.charge("p1").statusCode(),
            client.charge("p1").statusCode());

    assertThat(statuses).containsExactly(503, 200, 502, 200);
    assertThat(simulator.stats().faults())
        .containsEntry(Fault.NOT_PROCESSED, 1L)
        .containsEntry(Fault.HTML_502_AFTER, 1L);
    assertThat(client.charge("p2").statusCode()).isEqualTo(200);
  }

  @Test
  void failsQueriesOnDemand() throws Exception {
    client.charge("p1");
    simulator.scriptQueries("p1", QueryFault.UNAVAILABLE);

    assertThat(client.get("/v1/charges?merchant_transaction_id=p1").statusCode()).isEqualTo(503);
    assertThat(client.query("p1")).hasSize(1);
  }

  @Test
  void servesWhileHundredsOfCallsHang() throws Exception {
    List<CompletableFuture<HttpResponse<String>>> hanging =
        IntStream.range(0, 400)
            .mapToObj(i -> client.chargeAsync("hang_" + i, "pm_timeout_after"))
            .toList();
    await().until(() -> simulator.charges().size() == 400);

    assertThat(client.charge("p1").statusCode()).isEqualTo(200);
    assertThat(hanging).noneMatch(CompletableFuture::isDone);
  }
}
