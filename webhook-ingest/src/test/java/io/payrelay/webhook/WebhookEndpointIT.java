package io.payrelay.webhook;

import static io.payrelay.webhook.IngestFixture.event;
import static io.payrelay.webhook.IngestFixture.newEventId;
import static io.payrelay.webhook.IngestFixture.signed;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(60)
class WebhookEndpointIT {

  private static final String POST =
      "POST /webhooks/simulator HTTP/1.1\r\nHost: localhost\r\nwebhook-id: e\r\n";

  private static IngestFixture fixture;

  @BeforeAll
  static void start() {
    fixture =
        IngestFixture.start(
            Map.of(
                "PAYRELAY_INGEST_CONCURRENT_REQUESTS_MAX", "4",
                "PAYRELAY_INGEST_READ_TIMEOUT_MS", "3000"),
            IngestFaults.NONE);
  }

  @AfterAll
  static void stop() {
    fixture.close();
  }

  @Test
  void refusesATamperedBody() {
    String payment = fixture.payment();
    String id = newEventId();
    String body = event("charge.succeeded", payment);
    Map<String, String> headers = signed(IngestFixture.SECRET, id, 0, body);

    assertThat(fixture.send(headers, body.replace("1999", "1998"))).isEqualTo(401);

    assertThat(fixture.disposition(id)).isEqualTo("none");
    assertThat(fixture.status(payment)).isEqualTo("CREATED");
  }

  @ParameterizedTest
  @CsvSource({"-310, 401", "310, 401", "-290, 204", "290, 204"})
  void acceptsTimestampsInsideTheWindowOnly(long offsetSeconds, int status) {
    String body = event("charge.pending", fixture.payment());

    assertThat(fixture.send(signed(IngestFixture.SECRET, newEventId(), offsetSeconds, body), body))
        .isEqualTo(status);
  }

  @Test
  void acceptsTheOldSecretBesideTheNewOneAndNoOther() {
    String body = event("charge.pending", fixture.payment());
    String other = "whsec_" + "c3RyYW5nZXI".repeat(4) + "AAAA";

    assertThat(fixture.send(signed(IngestFixture.OLD_SECRET, newEventId(), 0, body), body))
        .isEqualTo(204);
    assertThat(fixture.send(signed(IngestFixture.SECRET, newEventId(), 0, body), body))
        .isEqualTo(204);
    assertThat(fixture.send(signed(other, newEventId(), 0, body), body)).isEqualTo(401);
  }

  @ParameterizedTest
  @CsvSource({
    "webhook-timestamp, soon",
    "webhook-timestamp, 99999999999999999999999",
    "webhook-signature, ' '",
    "webhook-id, 'a b'"
  })
  void callsMalformedHeadersABadRequest(String header, String value) {
    String body = event("charge.pending", fixture.payment());
    Map<String, String> headers = signed(IngestFixture.SECRET, newEventId(), 0, body);
    headers.put(header, value);

    assertThat(fixture.send(headers, body)).isEqualTo(400);
  }

  @Test
  void answersWrongPathsAndMethodsWithoutSayingMore() {
    HttpRequest.Builder post =
        HttpRequest.newBuilder(fixture.uri("/webhooks/stranger"))
            .POST(HttpRequest.BodyPublishers.ofString("{}"));
    HttpRequest.Builder get = HttpRequest.newBuilder(fixture.uri("/webhooks/simulator")).GET();
    HttpRequest.Builder root = HttpRequest.newBuilder(fixture.uri("/")).GET();

    HttpResponse<String> unknown = fixture.exchange(post.build());
    assertThat(unknown.statusCode()).isEqualTo(404);
    assertThat(unknown.headers().map()).doesNotContainKeys("server", "x-powered-by");
    HttpResponse<String> got = fixture.exchange(get.build());
    assertThat(got.statusCode()).isEqualTo(405);
    assertThat(got.headers().firstValue("allow")).contains("POST");
    assertThat(got.body()).isEmpty();
    assertThat(fixture.exchange(root.build()).statusCode()).isEqualTo(404);
  }

  @Test
  void refusesToInflate() {
    String body = event("charge.pending", fixture.payment());
    Map<String, String> headers = signed(IngestFixture.SECRET, newEventId(), 0, body);
    headers.put("content-encoding", "gzip");

    assertThat(fixture.send(headers, body)).isEqualTo(415);
  }

  @Test
  void refusesAnOversizedBodyByItsLength() throws Exception {
    try (Socket socket = connect()) {
      write(socket, POST + "Content-Length: 100000000\r\n\r\n");

      assertThat(statusLine(socket)).contains("413");
    }
  }

  @Test
  void refusesAnOversizedChunkedBodyWhileItCounts() throws Exception {
    try (Socket socket = connect()) {
      write(socket, POST + "Transfer-Encoding: chunked\r\n\r\n");
      String chunk = "8000\r\n" + "x".repeat(0x8000) + "\r\n";
      // One byte over the cap and no end: it is answered without waiting for one.
      for (int i = 0; i < 8; i++) {
        write(socket, chunk);
      }
      write(socket, "1\r\nx\r\n");

      assertThat(statusLine(socket)).contains("413");
    }
  }

  /** Convoy cut such a body at its limit and verified the rest: here the prefix is well signed. */
  @Test
  void neverTakesTheSignedPrefixOfAnOversizedBody() throws Exception {
    String payment = fixture.payment();
    String id = newEventId();
    String event = event("charge.succeeded", payment);
    String prefix = event + " ".repeat(262_144 - event.length());
    StringBuilder head =
        new StringBuilder("POST /webhooks/simulator HTTP/1.1\r\nHost: localhost\r\n");
    signed(IngestFixture.SECRET, id, 0, prefix)
        .forEach((name, value) -> head.append(name).append(": ").append(value).append("\r\n"));
    try (Socket socket = connect()) {
      write(socket, head + "Transfer-Encoding: chunked\r\n\r\n40000\r\n" + prefix + "\r\n");
      write(socket, "5\r\nabcde\r\n0\r\n\r\n");

      assertThat(statusLine(socket)).contains("413");
    }
    assertThat(fixture.disposition(id)).isEqualTo("none");
    assertThat(fixture.status(payment)).isEqualTo("CREATED");
    // The same bytes at the cap itself are taken.
    assertThat(fixture.send(signed(IngestFixture.SECRET, id, 0, prefix), prefix)).isEqualTo(204);
  }

  @Test
  void answersAnOversizedBodyThatNeverEndsAndClosesWithoutReadingIt() throws Exception {
    try (Socket socket = connect()) {
      write(socket, POST + "Content-Length: 2000000000\r\n\r\n");
      assertThat(statusLine(socket)).contains("413");
      assertThat(socket.getInputStream().readAllBytes()).isNotNull();
      // Closed: whoever goes on writing is refused by the network.
      await().until(() -> closed(socket, () -> write(socket, "x".repeat(100_000))));
    }
  }

  @Test
  void asksForNoBodyThatItWillRefuse() throws Exception {
    try (Socket socket = connect()) {
      write(socket, POST + "Expect: 100-continue\r\nContent-Length: 100000000\r\n\r\n");

      assertThat(statusLine(socket)).contains("413");
    }
  }

  @ParameterizedTest
  @CsvSource({
    "'Content-Encoding: identity\r\nContent-Encoding: gzip', 415",
    "'Content-Encoding: br', 415",
    "'Transfer-Encoding: gzip, chunked', 4",
    "'Transfer-Encoding: gzip', 4",
    "'Transfer-Encoding: chunked\r\nContent-Length: 3', 4"
  })
  void refusesEveryCodingOfTheBodyAndEveryDoubtAboutItsEnd(String header, String status)
      throws Exception {
    try (Socket socket = connect()) {
      write(socket, POST + header + "\r\n\r\n3\r\n{}\n\r\n0\r\n\r\n");

      assertThat(statusLine(socket)).contains(" " + status);
    }
  }

  @Test
  void refusesTooManyHeadersThoughTheyAreSmall() throws Exception {
    StringBuilder many = new StringBuilder();
    for (int i = 0; i < 200; i++) {
      many.append("a").append(i).append(":\r\n");
    }
    try (Socket socket = connect()) {
      write(socket, POST + many + "Content-Length: 0\r\n\r\n");

      assertThat(statusLine(socket)).contains("431");
    }
  }

  /** Finding 8: malformed headers made a 500 of it, and the provider retried for three days. */
  @Test
  void answersMalformedRequestsWithinMillisecondsAndWithoutATrace() throws Exception {
    List<String> broken =
        List.of(
            "webhook-id: e\r\n",
            "webhook-id: \u0001\r\n",
            "webhook-id: e\r\nwebhook-timestamp: 1e9\r\nwebhook-signature: v1,=\r\n",
            "webhook-id: e\r\nwebhook-timestamp: 1\r\nwebhook-signature: v1,AAAA\r\n");
    for (String headers : broken) {
      long startedNs = System.nanoTime();
      try (Socket socket = connect()) {
        write(
            socket,
            "POST /webhooks/simulator HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                + headers
                + "Content-Length: 2\r\n\r\n{}");
        String answer = new String(socket.getInputStream().readAllBytes(), US_ASCII);

        assertThat(answer).matches("(?s)HTTP/1.1 40[01] .*").doesNotContain("Exception", "at io.");
      }
      // A loaded machine included; on a quiet one it is single milliseconds.
      assertThat(Duration.ofNanos(System.nanoTime() - startedNs))
          .isLessThan(Duration.ofMillis(500));
    }
  }

  @ParameterizedTest
  @CsvSource({
    "'GARBAGE\r\n\r\n', 400",
    "'POST /webhooks/simulator HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n', 400",
    "'POST /webhooks/%ff%00 HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n', 40"
  })
  void answersBrokenRequestsWithoutAServerError(String request, String status) throws Exception {
    try (Socket socket = connect()) {
      write(socket, request);

      assertThat(statusLine(socket)).contains(" " + status);
    }
  }

  @Test
  void refusesTooManyHeaderBytes() throws Exception {
    double counted = fixture.refused("unknown", "head too large");
    try (Socket socket = connect()) {
      write(socket, POST + "X-Large: " + "x".repeat(20_000) + "\r\n\r\n");

      assertThat(statusLine(socket)).contains("431");
    }
    assertThat(fixture.refused("unknown", "head too large")).isEqualTo(counted + 1);
  }

  @Test
  void servesOthersWhileSlowSendersTrickleAndEndsThem() throws Exception {
    String body = event("charge.succeeded", fixture.payment());
    List<Socket> slow = new ArrayList<>();
    try {
      for (int i = 0; i < 100; i++) {
        Socket socket = connect();
        slow.add(socket);
        write(
            socket,
            i % 2 == 0 ? POST + "Content-Length: 1000\r\n\r\n{" : POST + "X-Half-A-Header: ");
      }

      assertThat(fixture.send(newEventId(), body)).isEqualTo(204);
      // Answered while all of them still hold on, not after they were ended.
      assertThat(slow.get(98).getInputStream().available()).isZero();

      // A byte now and then does not buy more time.
      Trickle halfHead = () -> write(slow.get(1), "x");
      Trickle both =
          () -> {
            boolean unused = closed(slow.get(1), halfHead);
            write(slow.get(0), "x");
          };
      assertThat(statusLine(slow.get(0), both)).contains("408");
      await().until(() -> closed(slow.get(1), halfHead));
      assertThat(fixture.refused("unknown", "head too slow")).isPositive();
      assertThat(fixture.refused("simulator", "body too slow")).isPositive();
    } finally {
      for (Socket socket : slow) {
        socket.close();
      }
    }
  }

  @Test
  void showsWhatItDidInItsMetricsAndHealth() {
    fixture.send(newEventId(), event("charge.succeeded", fixture.payment()));

    String metrics = fixture.telemetry("/metrics");

    assertThat(metrics)
        .contains("payrelay_webhook_events_total{disposition=\"APPLIED\",provider=\"simulator\"}")
        .contains("payrelay_webhook_parked");
    assertThat(fixture.telemetry("/health")).contains("database: ok", "process: ok");
  }

  private interface Trickle {
    void send() throws IOException;
  }

  private static Socket connect() throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), fixture.ingest.port());
    socket.setSoTimeout(10_000);
    return socket;
  }

  private static void write(Socket socket, String text) throws IOException {
    socket.getOutputStream().write(text.getBytes(US_ASCII));
    socket.getOutputStream().flush();
  }

  private static String statusLine(Socket socket) throws IOException {
    StringBuilder line = new StringBuilder();
    InputStream in = socket.getInputStream();
    for (int next = in.read(); next >= 0 && next != '\r'; next = in.read()) {
      line.append((char) next);
    }
    return line.toString();
  }

  private static String statusLine(Socket socket, Trickle trickle) throws IOException {
    await()
        .pollInterval(Duration.ofMillis(100))
        .until(
            () -> {
              if (socket.getInputStream().available() > 0) {
                return true;
              }
              try {
                trickle.send();
                return false;
              } catch (IOException e) {
                // Ended meanwhile: what it said before that can still be read.
                return true;
              }
            });
    return statusLine(socket);
  }

  private static boolean closed(Socket socket, Trickle trickle) {
    try {
      trickle.send();
      socket.setSoTimeout(50);
      return socket.getInputStream().read() < 0;
    } catch (SocketTimeoutException e) {
      return false;
    } catch (IOException e) {
      return true;
    }
  }
}
