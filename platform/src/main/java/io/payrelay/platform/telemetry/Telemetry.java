package io.payrelay.platform.telemetry;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;

/**
 * A process's metrics ({@code GET /metrics}, Prometheus text) and health ({@code GET /health}: 200
 * where every check says {@code ok}, else 503). Safe for any thread.
 */
public final class Telemetry implements AutoCloseable {

  private static final int THREADS = 2;

  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final Map<String, Supplier<String>> checks = new ConcurrentHashMap<>();
  private final ExecutorService executor = Executors.newFixedThreadPool(THREADS);
  private final HttpServer server;

  private Telemetry(HttpServer server) {
    this.server = server;
    server.setExecutor(executor);
    server.createContext("/metrics", this::metrics);
    server.createContext("/health", this::health);
    server.start();
  }

  /**
   * Starts serving.
   *
   * @throws PayrelayException FATAL where the port cannot be had
   */
  public static Telemetry start(TelemetryConfig config) {
    try {
      return new Telemetry(
          HttpServer.create(new InetSocketAddress(config.host(), config.port()), 16));
    } catch (IOException e) {
      throw new PayrelayException(
          Category.FATAL,
          "Port %d on %s cannot be had for metrics: set PAYRELAY_METRICS_PORT to another, or 0"
              .formatted(config.port(), config.host()),
          e);
    }
  }

  /** Where to register meters. */
  public MeterRegistry registry() {
    return registry;
  }

  /** The port that was taken. */
  public int port() {
    return server.getAddress().getPort();
  }

  /** Adds a check; its answer is {@code ok} or a short sentence without private data. */
  public void check(String name, Supplier<String> check) {
    checks.put(name, check);
  }

  /** Stops serving. */
  @Override
  public void close() {
    server.stop(0);
    executor.shutdownNow();
    registry.close();
  }

  private void metrics(HttpExchange exchange) throws IOException {
    answer(exchange, 200, registry.scrape());
  }

  private void health(HttpExchange exchange) throws IOException {
    StringBuilder text = new StringBuilder();
    boolean healthy = true;
    for (Map.Entry<String, Supplier<String>> check : new TreeMap<>(checks).entrySet()) {
      String said = said(check.getValue());
      healthy &= said.equals("ok");
      text.append(check.getKey()).append(": ").append(said).append('\n');
    }
    answer(exchange, healthy ? 200 : 503, text.toString());
  }

  private static String said(Supplier<String> check) {
    try {
      return check.get();
    } catch (RuntimeException e) {
      // The message may hold private data; the class says enough for a probe.
      return "the check failed with " + e.getClass().getSimpleName();
    }
  }

  private static void answer(HttpExchange exchange, int status, String text) throws IOException {
    try (exchange) {
      byte[] body = text.getBytes(StandardCharsets.UTF_8);
      exchange.getResponseHeaders().set("Content-Type", "text/plain; charset=utf-8");
      exchange.sendResponseHeaders(status, body.length == 0 ? -1 : body.length);
      exchange.getResponseBody().write(body);
    }
  }
}
