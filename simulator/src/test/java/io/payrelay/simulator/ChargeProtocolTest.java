package io.payrelay.simulator;

import static io.payrelay.simulator.ProviderClient.body;
import static io.payrelay.simulator.ProviderClient.errorType;
import static io.payrelay.simulator.ProviderClient.json;
import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import java.net.URI;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@Timeout(30)
class ChargeProtocolTest {
  private final SettableClock clock = new SettableClock();
  private ProviderSimulator simulator;
  private ProviderClient client;

  @BeforeEach
  void start() {
    simulator =
        ProviderSimulator.start(
            SimulatorConfig.builder()
                .clock(clock)
                .queryLag(Duration.ofMillis(500))
                .slowDelay(Duration.ofMillis(300))
                .pendingSettleDelay(Duration.ofMinutes(1))
                .build());
    client = new ProviderClient(simulator);
  }

  @AfterEach
  void stop() {
    simulator.close();
  }

  @Test
  void answersAChargeWithItsObject() throws Exception {
    HttpResponse<String> response = client.charge("p1");

    JsonNode charge = json(response);
    assertThat(response.statusCode()).isEqualTo(200);
    assertThat(response.headers().firstValue("Content-Type")).hasValue("application/json");
    assertThat(charge.fieldNames())
        .toIterable()
        .containsExactly(
            "id",
            "merchant_transaction_id",
            "status",
            "amount",
            "currency",
            "payee_account",
            "failure_code",
            "created_at");
    assertThat(charge.get("id").asText()).startsWith("ch_");
    assertThat(charge.get("status").asText()).isEqualTo("succeeded");
    assertThat(charge.get("amount").asLong()).isEqualTo(1250);
    assertThat(charge.get("failure_code").isNull()).isTrue();
    assertThat(charge.get("created_at").asText()).isEqualTo("2026-01-02T03:04:05Z");
  }

  @Test
  void repeatsTheFirstAnswerForTheSameKeyAndBody() throws Exception {
    HttpResponse<String> first = client.charge("p1");
    HttpResponse<String> second = client.charge("p1");

    assertThat(first.headers().firstValue("Idempotent-Replayed")).isEmpty();
    assertThat(second.statusCode()).isEqualTo(200);
    assertThat(second.body()).isEqualTo(first.body());
    assertThat(second.headers().firstValue("Idempotent-Replayed")).hasValue("true");
    assertThat(simulator.charges()).singleElement().matches(c -> c.calls() == 2);
  }

  @Test
  void refusesTheSameKeyWithOtherBytes() throws Exception {
    client.charge("p1");
    HttpResponse<String> response =
        client.send(client.chargeRequest("key_p1", body("p1", "") + " "));

    assertThat(response.statusCode()).isEqualTo(422);
    assertThat(errorType(response)).isEqualTo("idempotency_mismatch");
    assertThat(simulator.charges()).hasSize(1);
  }

  @Test
  void chargesOnceWhenOneKeyIsUsedConcurrently() throws Exception {
    List<CompletableFuture<HttpResponse<String>>> calls =
        IntStream.range(0, 20).mapToObj(i -> client.chargeAsync("p1", "pm_slow")).toList();
    List<HttpResponse<String>> responses = calls.stream().map(CompletableFuture::join).toList();

    assertThat(responses.stream().filter(r -> r.statusCode() == 200)).isNotEmpty();
    assertThat(responses)
        .filteredOn(r -> r.statusCode() != 200)
        .isNotEmpty()
        .allMatch(r -> r.statusCode() == 409 && r.body().contains("idempotency_key_in_use"));
    assertThat(simulator.charges()).hasSize(1);
    assertThat(client.charge("p1", "pm_slow").statusCode()).isEqualTo(200);
  }

  @Test
  void makesANewChargeForAForgottenKey() throws Exception {
    client.charge("p1");
    clock.advance(Duration.ofHours(24).minusNanos(1));
    client.charge("p1");
    assertThat(simulator.charges()).hasSize(1);

    clock.advance(Duration.ofNanos(1));
    HttpResponse<String> response = client.charge("p1");

    assertThat(response.headers().firstValue("Idempotent-Replayed")).isEmpty();
    assertThat(simulator.charges()).hasSize(2).allMatch(SimulatedCharge::moneyMoved);
    assertThat(simulator.stats().idsChargedTwice()).isEqualTo(1);
  }

  @Test
  void refusesAWrongApiKeyAndStoresNothing() throws Exception {
    HttpRequest missing =
        HttpRequest.newBuilder(URI.create(simulator.baseUrl() + "/v1/charges"))
            .header("Idempotency-Key", "key_p1")
            .POST(HttpRequest.BodyPublishers.ofString(body("p1", "")))
            .build();
    HttpRequest wrong =
        HttpRequest.newBuilder(missing, (name, value) -> true)
            .header("Authorization", "Bearer other")
            .build();

    for (HttpRequest request : List.of(missing, wrong)) {
      HttpResponse<String> response = client.send(request);
      assertThat(response.statusCode()).isEqualTo(401);
      assertThat(errorType(response)).isEqualTo("authentication");
    }
    assertThat(simulator.charges()).isEmpty();
    assertThat(client.charge("p1").headers().firstValue("Idempotent-Replayed")).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "[]",
        "{",
        "{\"merchant_transaction_id\":\"p1\",\"amount\":1250}",
        "{\"merchant_transaction_id\":\"p1\",\"amount\":0,\"currency\":\"USD\"}",
        "{\"merchant_transaction_id\":\"p1\",\"amount\":12.5,\"currency\":\"USD\"}",
        "{\"merchant_transaction_id\":\"p1\",\"amount\":\"12\",\"currency\":\"USD\"}",
        "{\"merchant_transaction_id\":\"p1\",\"amount\":12,\"currency\":\"usd\"}",
        "{\"merchant_transaction_id\":\"\",\"amount\":12,\"currency\":\"USD\"}",
        "{\"merchant_transaction_id\":\"p1\",\"amount\":12,\"currency\":\"USD\",\"metadata\":1}"
      })
  void refusesAnInvalidBodyAndDoesNotStoreTheRefusal(String invalid) throws Exception {
    HttpResponse<String> refused = client.send(client.chargeRequest("key_p1", invalid));

    assertThat(refused.statusCode()).isEqualTo(400);
    assertThat(errorType(refused)).isEqualTo("invalid_request");
    assertThat(client.charge("p1").statusCode()).isEqualTo(200);
  }

  @Test
  void refusesAMissingOrOverlongKeyAndAnOversizedBody() throws Exception {
    HttpRequest withoutKey =
        client
            .request("/v1/charges")
            .POST(HttpRequest.BodyPublishers.ofString(body("p1", "")))
            .build();

    assertThat(client.send(withoutKey).statusCode()).isEqualTo(400);
    assertThat(client.send(client.chargeRequest("k".repeat(256), body("p1", ""))).statusCode())
        .isEqualTo(400);
    assertThat(client.send(client.chargeRequest("k".repeat(255), body("p1", ""))).statusCode())
        .isEqualTo(200);
    assertThat(
            client
                .send(client.chargeRequest("key", body("p2", "") + " ".repeat(64 * 1024)))
                .statusCode())
        .isEqualTo(413);
  }

  @Test
  void answersADeclineWith402AndTheFailedCharge() throws Exception {
    HttpResponse<String> response = client.charge("p1", "pm_decline");

    assertThat(response.statusCode()).isEqualTo(402);
    assertThat(json(response).at("/error/type").asText()).isEqualTo("card_declined");
    assertThat(json(response).at("/error/code").asText()).isEqualTo("insufficient_funds");
    assertThat(json(response).at("/charge/status").asText()).isEqualTo("failed");
    assertThat(client.charge("p1", "pm_decline").statusCode()).isEqualTo(402);
    assertThat(simulator.charges()).singleElement().matches(c -> !c.moneyMoved());
  }

  @Test
  void findsAChargeByBothIdsOnceTheLagIsOver() throws Exception {
    String id = json(client.charge("p1")).get("id").asText();

    assertThat(client.query("p1")).isEmpty();
    assertThat(client.get("/v1/charges/" + id).statusCode()).isEqualTo(404);

    clock.advance(Duration.ofMillis(500));
    assertThat(client.query("p1")).hasSize(1);
    assertThat(json(client.get("/v1/charges/" + id)).get("id").asText()).isEqualTo(id);
    assertThat(client.query("other")).isEmpty();
    assertThat(client.get("/v1/charges").statusCode()).isEqualTo(400);
    assertThat(errorType(client.get("/v1/charges/ch_other"))).isEqualTo("not_found");
  }

  @Test
  void cancelsWhatIsPendingAndRefusesWhatHasSucceeded() throws Exception {
    String pending = json(client.charge("p1", "pm_pending")).get("id").asText();
    String succeeded = json(client.charge("p2")).get("id").asText();
    String failed = json(client.charge("p3", "pm_decline")).at("/charge/id").asText();

    HttpResponse<String> first = client.post("/v1/charges/" + pending + "/cancel");
    HttpResponse<String> again = client.post("/v1/charges/" + pending + "/cancel");
    HttpResponse<String> refused = client.post("/v1/charges/" + succeeded + "/cancel");

    assertThat(first.statusCode()).isEqualTo(200);
    assertThat(json(first).get("status").asText()).isEqualTo("canceled");
    assertThat(again.body()).isEqualTo(first.body());
    assertThat(refused.statusCode()).isEqualTo(409);
    assertThat(errorType(refused)).isEqualTo("already_succeeded");
    assertThat(json(refused).at("/charge/status").asText()).isEqualTo("succeeded");
    assertThat(json(client.post("/v1/charges/" + failed + "/cancel")).get("status").asText())
        .isEqualTo("failed");
    assertThat(client.post("/v1/charges/ch_other/cancel").statusCode()).isEqualTo(404);
  }

  @Test
  void showsTheOracleInPages() throws Exception {
    for (String id : List.of("p1", "p2", "p3")) {
      client.charge(id);
    }

    JsonNode first = json(client.get("/_sim/charges?limit=2")).get("charges");
    String last = first.get(1).get("id").asText();
    JsonNode second = json(client.get("/_sim/charges?limit=2&after=" + last)).get("charges");
    JsonNode stats = json(client.get("/_sim/stats"));

    assertThat(Stream.of(first.get(0), first.get(1), second.get(0)))
        .extracting(c -> c.get("merchant_transaction_id").asText())
        .containsExactly("p1", "p2", "p3");
    assertThat(second).hasSize(1);
    assertThat(first.get(0).get("money_moved").asBoolean()).isTrue();
    assertThat(first.get(0).get("idempotency_key").asText()).isEqualTo("key_p1");
    assertThat(first.get(0).get("calls").asInt()).isEqualTo(1);
    assertThat(stats.at("/charges_by_status/SUCCEEDED").asInt()).isEqualTo(3);
    assertThat(client.get("/_sim/health").statusCode()).isEqualTo(200);
  }
}
