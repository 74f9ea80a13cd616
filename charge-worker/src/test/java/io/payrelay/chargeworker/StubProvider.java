package io.payrelay.chargeworker;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A provider over real HTTP that answers what a test tells it for a payment, and remembers what it
 * was sent. For answers that an honest provider does not give. Safe for any thread.
 */
final class StubProvider implements AutoCloseable {

  private static final Pattern ID = Pattern.compile("merchant_transaction_id[\"=: ]+(\\w+)");
  private static final Pattern CANCEL = Pattern.compile(".*/ch_(\\w+)/cancel");

  private final HttpServer server;
  private final ExecutorService executor = Executors.newCachedThreadPool();
  private final Map<String, Function<Call, Reply>> scripts = new ConcurrentHashMap<>();
  private final List<Call> calls = new CopyOnWriteArrayList<>();

  enum Kind {
    CHARGE,
    QUERY,
    CANCEL
  }

  /**
   * What was sent.
   *
   * @param number of this kind for the payment, from 1
   */
  record Call(Kind kind, String paymentId, int number, String key, String body) {}

  /**
   * What is answered.
   *
   * @param retryAfter the header; null: none
   */
  record Reply(int status, String type, String body, String retryAfter) {

    Reply(int status, String type, String body) {
      this(status, type, body, null);
    }

    static Reply json(int status, String body) {
      return new Reply(status, "application/json", body);
    }
  }

  StubProvider() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 64);
    server.setExecutor(executor);
    server.createContext("/v1/charges", this::handle);
    server.start();
  }

  URI url() {
    return URI.create("http://127.0.0.1:" + server.getAddress().getPort());
  }

  /** What is answered for a payment. */
  void on(String paymentId, Function<Call, Reply> script) {
    scripts.put(paymentId, script);
  }

  List<Call> calls(String paymentId, Kind kind) {
    return calls.stream()
        .filter(call -> call.paymentId().equals(paymentId) && call.kind() == kind)
        .toList();
  }

  /** The payment's charge as the protocol shows it, with more fields at its end. */
  static String charge(String paymentId, String status, String more) {
    return charge(paymentId, "ch_" + paymentId, status, 1200, "USD", "acct_1", more);
  }

  static String charge(
      String paymentId,
      String id,
      String status,
      long amountMinor,
      String currency,
      String payee,
      String more) {
    return """
        {"id":"%s","merchant_transaction_id":"%s","status":"%s","amount":%d,"currency":"%s",
        "payee_account":"%s"%s}"""
        .formatted(id, paymentId, status, amountMinor, currency, payee, more);
  }

  static String list(String... charges) {
    return "{\"data\":[" + String.join(",", charges) + "]}";
  }

  static String error(String type, String code, String charge) {
    return """
        {"error":{"type":"%s","code":"%s"}%s}"""
        .formatted(type, code, charge == null ? "" : ",\"charge\":" + charge);
  }

  @Override
  public void close() {
    server.stop(0);
    executor.shutdownNow();
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      String body = new String(exchange.getRequestBody().readAllBytes(), UTF_8);
      String path = exchange.getRequestURI().toString();
      Matcher cancel = CANCEL.matcher(path);
      Kind kind =
          cancel.matches()
              ? Kind.CANCEL
              : exchange.getRequestMethod().equals("POST") ? Kind.CHARGE : Kind.QUERY;
      Matcher id = ID.matcher(kind == Kind.CHARGE ? body : path);
      String paymentId = kind == Kind.CANCEL ? cancel.group(1) : id.find() ? id.group(1) : "nobody";
      Call call =
          new Call(
              kind,
              paymentId,
              calls(paymentId, kind).size() + 1,
              exchange.getRequestHeaders().getFirst("Idempotency-Key"),
              body);
      calls.add(call);
      Reply reply =
          scripts
              .getOrDefault(paymentId, unknown -> Reply.json(404, error("not_found", "x", null)))
              .apply(call);
      byte[] answer = reply.body().getBytes(UTF_8);
      exchange.getResponseHeaders().add("Content-Type", reply.type());
      if (reply.retryAfter() != null) {
        exchange.getResponseHeaders().add("Retry-After", reply.retryAfter());
      }
      exchange.sendResponseHeaders(reply.status(), answer.length == 0 ? -1 : answer.length);
      if (answer.length > 0) {
        exchange.getResponseBody().write(answer);
      }
    }
  }
}
