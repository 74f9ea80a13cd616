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
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Supplier;

/**
 * A process's metrics and health over HTTP. {@code GET /metrics}: Prometheus text. {@code GET
 * /health/live}: 503 only where the process must be restarted. {@code GET /health/ready}: 503 where
 * it cannot do its work now, with the reason. {@code GET /health}: both. Safe for any thread.
 */
public final class Telemetry implements AutoCloseable {

  /** Some slow ready probes at once must not keep {@code /health/live} waiting. */
  private static final int THREADS = 4;

  /** Probes give up after a second or more: an answer that names the slow check must be sooner. */
  private static final Duration READY_LIMIT = Duration.ofMillis(900);

  private final PrometheusMeterRegistry registry =
      new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
  private final Map<String, Supplier<String>> live = new ConcurrentSkipListMap<>();
  private final Map<String, SlowCheck> ready = new ConcurrentSkipListMap<>();
  private final ExecutorService executor = Executors.newFixedThreadPool(THREADS);
  private final ExecutorService checkExecutor =
      Executors.newCachedThreadPool(
          task -> {
            Thread thread = new Thread(task, "payrelay-health");
            thread.setDaemon(true);
            return thread;
          });
  private final HttpServer server;

  private Telemetry(HttpServer server) {
    this.server = server;
    server.setExecutor(executor);
    server.createContext("/metrics", this::metrics);
    server.createContext("/health/live", exchange -> health(exchange, true, false));
    server.createContext("/health/ready", exchange -> health(exchange, false, true));
    server.createContext("/health", exchange -> health(exchange, true, true));
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

  /**
   * Adds a check of whether the process works at all. Its answer is {@code ok} or a short sentence
   * without private data, and comes at once: it asks nobody outside the process.
   */
  public void live(String name, Supplier<String> check) {
    live.put(name, check);
  }

  /**
   * Adds a check of whether the process can do its work now. Its answer is {@code ok} or a short
   * sentence without private data; it may be slow, and runs once at a time.
   */
  public void ready(String name, Supplier<String> check) {
    ready.put(name, new SlowCheck(check, checkExecutor));
  }

  /** {@code ok}, or the reasons why the process is not ready. */
  public String readiness() {
    StringBuilder text = new StringBuilder();
    askReady()
        .forEach(
            (name, said) -> {
              if (!said.equals("ok")) {
                text.append(text.isEmpty() ? "" : "; ").append(name).append(": ").append(said);
              }
            });
    return text.isEmpty() ? "ok" : text.toString();
  }

  /** Stops serving. */
  @Override
  public void close() {
    server.stop(0);
    executor.shutdownNow();
    checkExecutor.shutdownNow();
    registry.close();
  }

  private void metrics(HttpExchange exchange) throws IOException {
    answer(exchange, 200, registry.scrape());
  }

  private void health(HttpExchange exchange, boolean ofLive, boolean ofReady) throws IOException {
    Map<String, String> answers = new ConcurrentSkipListMap<>();
    if (ofLive) {
      live.forEach((name, check) -> answers.put(name, SlowCheck.said(check)));
    }
    if (ofReady) {
      askReady().forEach(answers::put);
    }
    StringBuilder text = new StringBuilder();
    boolean healthy = true;
    for (Map.Entry<String, String> answer : answers.entrySet()) {
      healthy &= answer.getValue().equals("ok");
      text.append(answer.getKey()).append(": ").append(answer.getValue()).append('\n');
    }
    answer(exchange, healthy ? 200 : 503, text.isEmpty() ? "ok\n" : text.toString());
  }

  /** All are begun before the first is waited for. */
  private Map<String, String> askReady() {
    Map<String, String> answers = new ConcurrentSkipListMap<>();
    ready.values().forEach(SlowCheck::begin);
    long deadlineNs = System.nanoTime() + READY_LIMIT.toNanos();
    ready.forEach((name, check) -> answers.put(name, check.answer(deadlineNs)));
    return answers;
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
