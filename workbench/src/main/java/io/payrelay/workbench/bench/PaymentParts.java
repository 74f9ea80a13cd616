package io.payrelay.workbench.bench;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Everything that a payment passes, each part in a process of its own with the launcher's JVM
 * options and its default settings. Belongs to one thread.
 */
final class PaymentParts implements AutoCloseable {

  /** Who requests the payments. */
  static final String SHOP_USER = "bench_shop";

  private static final String PROVIDER = "simulator";
  private static final String API_KEY = "sk_test_bench";
  static final String WEBHOOK_SECRET = "whsec_cGF5cmVsYXktYmVuY2htYXJrLXNlY3JldA==";
  private static final Duration READY_LIMIT = Duration.ofSeconds(60);
  private static final List<String> JAVA_OPTIONS = List.of("-Xmx256m", "-XX:+UseSerialGC");

  private final BenchServers servers;
  private final Map<String, BenchProcess> processes = new LinkedHashMap<>();
  private final URI provider;

  private PaymentParts(BenchServers servers, int latencyMs, List<String> workerJavaOptions) {
    this.servers = servers;
    servers.migrate();
    Map<String, String> unused = servers.login(SHOP_USER, "payrelay_upstream");
    Map<String, String> ingest = servers.login("bench_ingest", "payrelay_ingest");
    ingest.put("PAYRELAY_INGEST_PORT", "0");
    ingest.put("PAYRELAY_PROVIDER_NAME", PROVIDER);
    ingest.put("PAYRELAY_PROVIDER_WEBHOOK_SECRETS", WEBHOOK_SECRET);
    String port = value(start("webhook-ingest", JAVA_OPTIONS, ingest), "port");
    String[] arguments = {
      "--port=0",
      "--latency-ms=" + latencyMs,
      "--webhook-url=http://127.0.0.1:" + port + "/webhooks/" + PROVIDER,
      "--api-key=" + API_KEY,
      "--webhook-secret=" + WEBHOOK_SECRET
    };
    provider = URI.create(value(start("simulator", JAVA_OPTIONS, Map.of(), arguments), "url"));
    Map<String, String> worker = servers.login("bench_worker", "payrelay_worker");
    worker.put("PAYRELAY_PROVIDER_NAME", PROVIDER);
    worker.put("PAYRELAY_PROVIDER_URL", provider.toString());
    worker.put("PAYRELAY_PROVIDER_API_KEY", API_KEY);
    List<String> options = new ArrayList<>(JAVA_OPTIONS);
    options.addAll(workerJavaOptions);
    start("charge-worker", options, worker);
    start("relay", JAVA_OPTIONS, servers.relayEnvironment());
  }

  static PaymentParts start(BenchServers servers, int latencyMs, List<String> workerJavaOptions) {
    return new PaymentParts(servers, latencyMs, workerJavaOptions);
  }

  /** Fails with what a part said last, if one has ended. */
  void requireAlive() {
    processes.values().forEach(BenchProcess::requireAlive);
  }

  /** CPU time so far, by process; ours makes the load and reads the results. */
  Map<String, Duration> cpu() {
    Map<String, Duration> cpu = new LinkedHashMap<>();
    cpu.put("postgresql", servers.postgresCpu());
    cpu.put("kafka", servers.kafkaCpu());
    processes.forEach((name, process) -> cpu.put(name.replace('-', '_'), process.cpu()));
    cpu.put("load", ProcessHandle.current().info().totalCpuDuration().orElse(Duration.ZERO));
    return cpu;
  }

  /** The provider's own counts. */
  JsonNode providerStats() {
    HttpRequest request = HttpRequest.newBuilder(provider.resolve("/_sim/stats")).build();
    try {
      return new ObjectMapper()
          .readTree(
              HttpClient.newHttpClient()
                  .send(request, HttpResponse.BodyHandlers.ofByteArray())
                  .body());
    } catch (IOException e) {
      throw new PayrelayException(Category.FATAL, "The simulator does not answer", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new PayrelayException(Category.RETRIABLE, "Interrupted while asking the simulator", e);
    }
  }

  @Override
  public void close() {
    List<BenchProcess> all = new ArrayList<>(processes.values());
    for (int i = all.size() - 1; i >= 0; i--) {
      all.get(i).close();
    }
  }

  private String start(
      String command, List<String> options, Map<String, String> environment, String... arguments) {
    BenchProcess process =
        BenchProcess.ours(servers.folder(), options, environment, command, arguments);
    processes.put(command, process);
    try {
      return process.awaitLine("ready ", READY_LIMIT);
    } catch (RuntimeException e) {
      close();
      throw e;
    }
  }

  private static String value(String ready, String name) {
    for (String word : ready.split(" ", -1)) {
      if (word.startsWith(name + "=")) {
        return word.substring(name.length() + 1);
      }
    }
    throw new IllegalStateException("no " + name + " in: " + ready);
  }
}
