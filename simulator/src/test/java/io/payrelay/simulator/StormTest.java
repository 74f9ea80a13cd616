package io.payrelay.simulator;

import static io.payrelay.simulator.ProviderClient.json;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A careful client gets every payment resolved in a storm, and charges nobody twice. */
@Timeout(60)
class StormTest {
  private static final int PAYMENTS = 300;
  private static final int TRIES_MAX = 40;
  private static final Duration PATIENCE = Duration.ofMillis(300);

  @Test
  void resolvesEveryPaymentByRetryAndQuery() throws Exception {
    SimulatorConfig config =
        SimulatorConfig.builder()
            .profile(FaultProfile.STORM)
            .seed(20_260_102)
            .slowDelay(Duration.ofMillis(400))
            .pendingSettleDelay(Duration.ofMillis(200))
            .build();
    Map<String, String> statuses = new ConcurrentHashMap<>();
    try (ProviderSimulator simulator = ProviderSimulator.start(config)) {
      ProviderClient client = new ProviderClient(simulator);
      ExecutorService workers = Executors.newFixedThreadPool(32);
      List<Callable<String>> tasks =
          IntStream.range(0, PAYMENTS)
              .<Callable<String>>mapToObj(
                  i -> () -> statuses.put("payment_" + i, resolve(client, "payment_" + i)))
              .toList();
      for (Future<String> done : workers.invokeAll(tasks)) {
        done.get();
      }
      workers.shutdown();

      await().until(() -> simulator.stats().chargesByStatus().get(ChargeStatus.PENDING) == 0);
      assertThat(simulator.charges()).hasSize(PAYMENTS);
      assertThat(simulator.stats().idsChargedTwice()).isZero();
      for (SimulatedCharge charge : simulator.charges()) {
        assertThat(statuses.get(charge.merchantTransactionId()))
            .as(charge.toString())
            .isEqualTo(charge.status().wireName());
      }
      assertThat(simulator.stats().faults().get(Fault.RESET_AFTER)).isPositive();
      assertThat(simulator.stats().faults().get(Fault.ERROR_500_AFTER)).isPositive();
    }
  }

  private static String resolve(ProviderClient client, String id) throws Exception {
    for (int i = 0; i < TRIES_MAX; i++) {
      String status = statusByCharging(client, id);
      if (status.isEmpty()) {
        status = statusByQuery(client, id);
      }
      if (status.equals("pending")) {
        return await()
            .until(() -> statusByQuery(client, id), settled -> settled.matches("succeeded|failed"));
      }
      if (!status.isEmpty()) {
        return status;
      }
    }
    return "unresolved";
  }

  private static String statusByCharging(ProviderClient client, String id) throws Exception {
    try {
      HttpResponse<String> response = client.chargeWithin(PATIENCE, id, "");
      return switch (response.statusCode()) {
        case 200, 402 -> statusOf(response);
        default -> "";
      };
    } catch (IOException e) {
      return "";
    }
  }

  private static String statusOf(HttpResponse<String> response) throws IOException {
    JsonNode body = json(response);
    return (response.statusCode() == 402 ? body.get("charge") : body).get("status").asText();
  }

  private static String statusByQuery(ProviderClient client, String id) throws Exception {
    try {
      HttpResponse<String> response =
          client.send(
              HttpRequest.newBuilder(
                      client.request("/v1/charges?merchant_transaction_id=" + id).GET().build(),
                      (name, value) -> true)
                  .timeout(PATIENCE)
                  .build());
      JsonNode data = response.statusCode() == 200 ? json(response).get("data") : null;
      return data == null || data.isEmpty() ? "" : data.get(0).get("status").asText();
    } catch (IOException e) {
      return "";
    }
  }
}
