package io.payrelay.webhook;

import static io.payrelay.webhook.IngestFixture.event;
import static io.payrelay.webhook.IngestFixture.newEventId;
import static io.payrelay.webhook.IngestFixture.signed;
import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Thousands that do nothing, and hundreds that want too much. */
@Timeout(120)
class CrowdIT {

  private static final int CROWD = 2_000;
  private static final int CONNECTIONS_MAX = 1_500;

  /** The fixture's own, telemetry and clients included: far from one a connection. */
  private static final int THREADS_MORE_MAX = 150;

  private static final String POST = "POST /webhooks/simulator HTTP/1.1\r\nHost: a\r\n";

  @Test
  void servesHealthySendersWhileTwoThousandConnectionsIdleAndTrickle() throws Exception {
    List<Socket> crowd = new ArrayList<>();
    int threadsBefore = Thread.getAllStackTraces().size();
    // Their time is not over during the test: it is not the time that makes room.
    try (IngestFixture fixture =
        IngestFixture.start(
            Map.of(
                "PAYRELAY_INGEST_CONNECTIONS_MAX",
                "" + CONNECTIONS_MAX,
                "PAYRELAY_INGEST_READ_TIMEOUT_MS",
                "100000"),
            IngestFaults.NONE)) {
      for (int i = 0; i < CROWD; i++) {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), fixture.ingest.port());
        crowd.add(socket);
        String start =
            switch (i % 3) {
              case 0 -> "";
              case 1 -> POST + "X-Half-A-Header: ";
              default -> POST + "webhook-id: e\r\nContent-Length: 1000\r\n\r\n{";
            };
        trickle(socket, start);
      }

      long slowestMs = 0;
      for (int i = 0; i < 50; i++) {
        crowd.subList(CROWD - 300, CROWD).forEach(socket -> trickle(socket, "x"));
        String payment = fixture.payment();
        long startedNs = System.nanoTime();
        assertThat(freshlyConnected(fixture, event("charge.succeeded", payment)))
            .startsWith("HTTP/1.1 204");
        slowestMs = Math.max(slowestMs, Duration.ofNanos(System.nanoTime() - startedNs).toMillis());
        assertThat(fixture.status(payment)).isEqualTo("SUCCEEDED");
      }

      System.out.println("slowest healthy delivery among " + CROWD + ": " + slowestMs + " ms");
      assertThat(slowestMs).isLessThan(5_000);
      assertThat(databaseConnections(fixture)).isLessThanOrEqualTo(IngestFixture.POOL);
      assertThat(Thread.getAllStackTraces().size() - threadsBefore).isLessThan(THREADS_MORE_MAX);
      assertThat(fixture.refused("unknown", "too many connections")).isPositive();
    } finally {
      for (Socket socket : crowd) {
        socket.close();
      }
    }
  }

  /**
   * Checklist 3.2 number 4: the pool's limit is answered, not waited for, and nothing stays
   * half-done.
   */
  @Test
  void answersHundredsAtOnceThoughEveryDatabaseConnectionIsStuckAndRecovers() throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(200);
    try (IngestFixture fixture =
        IngestFixture.start(
            Map.of(
                "PAYRELAY_INGEST_STATEMENT_TIMEOUT_MS", "1000",
                "PAYRELAY_INGEST_DATABASE_WAIT_MS", "250"),
            IngestFaults.NONE)) {
      String payment = fixture.payment();
      String body = event("charge.succeeded", payment);
      List<Callable<Integer>> calls = new ArrayList<>();
      for (int i = 0; i < 200; i++) {
        calls.add(() -> fixture.send(newEventId(), body));
      }
      long[] tookMs = new long[1];
      fixture.owner.useTransaction(
          tx -> {
            tx.select("SELECT 1 FROM payrelay.payment WHERE payment_id = ? FOR UPDATE", payment)
                .mapTo(Integer.class)
                .one();
            long startedNs = System.nanoTime();
            for (Future<Integer> call : pool.invokeAll(calls)) {
              assertThat(call.get()).isIn(429, 503);
            }
            tookMs[0] = Duration.ofNanos(System.nanoTime() - startedNs).toMillis();
          });

      System.out.println("200 refused in " + tookMs[0] + " ms");
      // Every one of them: one statement timeout, and what waited for its connection.
      assertThat(tookMs[0]).isLessThan(10_000);
      assertThat(fixture.count("SELECT count(*) FROM payrelay.provider_event")).isZero();
      await().until(() -> fixture.send(newEventId(), body) == 204);
      assertThat(fixture.statusEvents(payment)).containsExactly("PENDING", "SUCCEEDED");
    } finally {
      pool.shutdownNow();
    }
  }

  @Test
  void endsTheOldestHalfBodyForANewOneWhereTheMemoryForBodiesIsUsedUp() throws Exception {
    try (IngestFixture fixture =
            IngestFixture.start(
                Map.of(
                    "PAYRELAY_INGEST_BUFFERED_BYTES_MAX", "1048576",
                    "PAYRELAY_INGEST_BODY_BYTES_MAX", "1000000",
                    "PAYRELAY_INGEST_READ_TIMEOUT_MS", "100000"),
                IngestFaults.NONE);
        Socket older = halfBody(fixture, 900_000, 0);
        Socket newer = halfBody(fixture, 148_000, 900_000)) {
      String body = event("charge.succeeded", fixture.payment()) + " ".repeat(2_000);

      await()
          .until(
              () -> {
                assertThat(freshlyConnected(fixture, body)).startsWith("HTTP/1.1 204");
                return older.getInputStream().available() > 0;
              });

      assertThat(new String(older.getInputStream().readNBytes(12), US_ASCII))
          .isEqualTo("HTTP/1.1 408");
      assertThat(newer.getInputStream().available()).isZero();
      assertThat(fixture.refused("simulator", "body gave way")).isPositive();
      await().until(() -> buffered(fixture) == 148_000);
    }
  }

  /**
   * @param before what the ingest holds already: which body is the older one is decided by who was
   *     read first, not by who connected first
   */
  private static Socket halfBody(IngestFixture fixture, int bytes, int before) throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), fixture.ingest.port());
    String text = POST + "Content-Length: 1000000\r\n\r\n" + " ".repeat(bytes);
    socket.getOutputStream().write(text.getBytes(US_ASCII));
    await().until(() -> buffered(fixture) == before + bytes);
    return socket;
  }

  private static long buffered(IngestFixture fixture) {
    return fixture
        .telemetry("/metrics")
        .lines()
        .filter(line -> line.startsWith("payrelay_webhook_buffered_bytes "))
        .mapToLong(line -> (long) Double.parseDouble(line.substring(line.indexOf(' '))))
        .sum();
  }

  private static String freshlyConnected(IngestFixture fixture, String body) throws IOException {
    StringBuilder request = new StringBuilder(POST + "Connection: close\r\n");
    signed(IngestFixture.SECRET, newEventId(), 0, body)
        .forEach((name, value) -> request.append(name + ": " + value + "\r\n"));
    byte[] bytes = body.getBytes(UTF_8);
    request.append("Content-Length: " + bytes.length + "\r\n\r\n");
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), fixture.ingest.port())) {
      socket.setSoTimeout(20_000);
      socket.getOutputStream().write(request.toString().getBytes(US_ASCII));
      socket.getOutputStream().write(bytes);
      return new String(socket.getInputStream().readAllBytes(), US_ASCII);
    }
  }

  /** A member of the crowd that was closed meanwhile does not matter. */
  private static void trickle(Socket socket, String text) {
    try {
      socket.getOutputStream().write(text.getBytes(US_ASCII));
    } catch (IOException e) {
      assertThat(e).hasMessageMatching("(?i).*(broken|reset|closed|abort).*");
    }
  }

  private static long databaseConnections(IngestFixture fixture) {
    return fixture.count(
        """
        SELECT count(*) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name = 'payrelay-webhook-ingest'
        """);
  }
}
