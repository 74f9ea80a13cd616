package io.payrelay.simulator;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpHeaders;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CopyOnWriteArrayList;

/** Keeps what it receives; answers with the given statuses first and then with 204. */
final class WebhookReceiver implements AutoCloseable {
  /** One delivery as it came. */
  record Received(HttpHeaders headers, String body) {
    String id() {
      return headers.firstValue("webhook-id").orElse("");
    }

    String type() {
      return body.replaceAll(".*\"type\":\"([a-z.]+)\".*", "$1");
    }
  }

  private final HttpServer server;
  private final List<Received> received = new CopyOnWriteArrayList<>();
  private final Queue<Integer> statuses = new ConcurrentLinkedQueue<>();

  WebhookReceiver(Integer... firstStatuses) throws IOException {
    statuses.addAll(List.of(firstStatuses));
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 64);
    server.createContext("/hook", this::handle);
    server.start();
  }

  URI url() {
    return URI.create("http://127.0.0.1:" + server.getAddress().getPort() + "/hook");
  }

  List<Received> received() {
    return List.copyOf(received);
  }

  List<String> types() {
    return received.stream().map(Received::type).toList();
  }

  @Override
  public void close() {
    server.stop(0);
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      String body = new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8);
      received.add(
          new Received(HttpHeaders.of(exchange.getRequestHeaders(), (n, v) -> true), body));
      Integer status = statuses.poll();
      exchange.sendResponseHeaders(status == null ? 204 : status, -1);
    }
  }
}
