package io.payrelay.simulator;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/** A plain client of the protocol. */
final class ProviderClient {
  static final String API_KEY = "sk_test_simulator";
  private static final ObjectMapper MAPPER = new ObjectMapper();

  private final HttpClient http = HttpClient.newHttpClient();
  private final ProviderSimulator simulator;

  ProviderClient(ProviderSimulator simulator) {
    this.simulator = simulator;
  }

  /** A body of 12.50 USD; the payment method may be empty. */
  static String body(String id, String paymentMethod) {
    return "{\"merchant_transaction_id\":\""
        + id
        + "\",\"amount\":1250,\"currency\":\"USD\",\"payee_account\":\"acct_1\""
        + (paymentMethod.isEmpty() ? "" : ",\"payment_method\":\"" + paymentMethod + "\"")
        + "}";
  }

  HttpRequest.Builder request(String path) {
    return HttpRequest.newBuilder(URI.create(simulator.baseUrl() + path))
        .timeout(Duration.ofSeconds(10))
        .header("Authorization", "Bearer " + API_KEY);
  }

  HttpRequest chargeRequest(String key, String body) {
    return request("/v1/charges")
        .header("Idempotency-Key", key)
        .header("Content-Type", "application/json")
        .POST(HttpRequest.BodyPublishers.ofString(body))
        .build();
  }

  HttpResponse<String> charge(String id, String paymentMethod)
      throws IOException, InterruptedException {
    return send(chargeRequest("key_" + id, body(id, paymentMethod)));
  }

  HttpResponse<String> charge(String id) throws IOException, InterruptedException {
    return charge(id, "");
  }

  HttpResponse<String> chargeWithin(Duration timeout, String id, String paymentMethod)
      throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(
                chargeRequest("key_" + id, body(id, paymentMethod)), (name, value) -> true)
            .timeout(timeout)
            .build();
    return send(request);
  }

  CompletableFuture<HttpResponse<String>> chargeAsync(String id, String paymentMethod) {
    return http.sendAsync(
        chargeRequest("key_" + id, body(id, paymentMethod)), HttpResponse.BodyHandlers.ofString());
  }

  HttpResponse<String> get(String path) throws IOException, InterruptedException {
    return send(request(path).GET().build());
  }

  HttpResponse<String> post(String path) throws IOException, InterruptedException {
    return send(request(path).POST(HttpRequest.BodyPublishers.noBody()).build());
  }

  JsonNode query(String id) throws IOException, InterruptedException {
    return json(get("/v1/charges?merchant_transaction_id=" + id)).get("data");
  }

  HttpResponse<String> send(HttpRequest request) throws IOException, InterruptedException {
    return http.send(request, HttpResponse.BodyHandlers.ofString());
  }

  static JsonNode json(HttpResponse<String> response) throws IOException {
    return MAPPER.readTree(response.body());
  }

  static String errorType(HttpResponse<String> response) throws IOException {
    return json(response).at("/error/type").asText();
  }
}
