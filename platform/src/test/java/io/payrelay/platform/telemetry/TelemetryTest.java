package io.payrelay.platform.telemetry;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.payrelay.platform.errors.PayrelayException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
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
  void isHealthyWhileEveryCheckSaysOk() throws Exception {
    assertThat(ask("/health").statusCode()).isEqualTo(200);
    telemetry.check("database", () -> "ok");
    assertThat(ask("/health").body()).isEqualTo("database: ok\n");

    telemetry.check("slot", () -> "the slot lags 3 GB");

    assertThat(ask("/health").statusCode()).isEqualTo(503);
    assertThat(ask("/health").body()).contains("slot: the slot lags 3 GB");
  }

  @Test
  void isUnhealthyWhereACheckItselfFails() throws Exception {
    telemetry.check(
        "database",
        () -> {
          throw new IllegalStateException("canary");
        });

    assertThat(ask("/health").statusCode()).isEqualTo(503);
    assertThat(ask("/health").body()).contains("IllegalStateException").doesNotContain("canary");
  }

  @Test
  void saysThatThePortIsTaken() {
    assertThatThrownBy(() -> Telemetry.start(new TelemetryConfig("127.0.0.1", telemetry.port())))
        .isInstanceOf(PayrelayException.class)
        .hasMessageContaining("PAYRELAY_METRICS_PORT");
  }
}
