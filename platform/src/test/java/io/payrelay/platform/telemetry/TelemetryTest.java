package io.payrelay.platform.telemetry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.payrelay.platform.errors.PayrelayException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class TelemetryTest {

  private final Telemetry telemetry = Telemetry.start(new TelemetryConfig("127.0.0.1", 0));

  @AfterEach
  void close() {
    telemetry.close();
  }

  private HttpResponse<String> ask(String path) throws Exception {
    return HttpClient.newHttpClient()
        .send(
            HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + telemetry.port() + path))
                .build(),
            HttpResponse.BodyHandlers.ofString());
  }

  @Test
  void servesMetrics() throws Exception {
    telemetry.registry().counter("payrelay.things").increment();

    assertThat(ask("/metrics").body()).contains("payrelay_things_total 1.0");
  }

  @Test
  void isReadyWhileEveryCheckSaysOk() throws Exception {
    assertThat(ask("/health/ready").statusCode()).isEqualTo(200);
    telemetry.ready("database", () -> "ok");
    assertThat(ask("/health/ready").body()).isEqualTo("database: ok\n");
    assertThat(telemetry.readiness()).isEqualTo("ok");

    telemetry.ready("slot", () -> "the slot lags 3 GB");

    assertThat(ask("/health/ready").statusCode()).isEqualTo(503);
    assertThat(ask("/health/ready").body()).isEqualTo("database: ok\nslot: the slot lags 3 GB\n");
    assertThat(telemetry.readiness()).isEqualTo("slot: the slot lags 3 GB");
  }

  @Test
  void isAliveWhileItIsNotReady() throws Exception {
    telemetry.live("loop", () -> "ok");
    telemetry.ready("database", () -> "away");

    assertThat(ask("/health/live").statusCode()).isEqualTo(200);
    assertThat(ask("/health/live").body()).isEqualTo("loop: ok\n");
    assertThat(ask("/health").statusCode()).isEqualTo(503);
    assertThat(ask("/health").body()).isEqualTo("database: away\nloop: ok\n");

    telemetry.live("loop", () -> "has stopped");

    assertThat(ask("/health/live").statusCode()).isEqualTo(503);
  }

  @Test
  void isNotReadyWhereACheckItselfFails() throws Exception {
    telemetry.ready(
        "database",
        () -> {
          throw new IllegalStateException("canary");
        });

    assertThat(ask("/health/ready").statusCode()).isEqualTo(503);
    assertThat(ask("/health/ready").body())
        .contains("IllegalStateException")
        .doesNotContain("canary");
  }

  @Test
  void aCheckThatHangsRunsOnceAndDelaysNothingElse() throws Exception {
    CountDownLatch hangs = new CountDownLatch(1);
    AtomicInteger runs = new AtomicInteger();
    telemetry.live("loop", () -> "ok");
    telemetry.ready("kafka", () -> "ok");
    telemetry.ready(
        "database",
        () -> {
          runs.incrementAndGet();
          try {
            hangs.await();
          } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
          }
          return "ok";
        });

    for (int i = 0; i < 2; i++) {
      assertThat(ask("/health/ready").body()).isEqualTo("database: does not answer\nkafka: ok\n");
    }

    assertThat(runs).hasValue(1);
    assertThat(ask("/health/live").statusCode()).isEqualTo(200);
    hangs.countDown();
    await().until(() -> ask("/health/ready").statusCode() == 200);
  }

  @Test
  void saysThatThePortIsTaken() {
    assertThatThrownBy(() -> Telemetry.start(new TelemetryConfig("127.0.0.1", telemetry.port())))
        .isInstanceOf(PayrelayException.class)
        .hasMessageContaining("PAYRELAY_METRICS_PORT");
  }
}
