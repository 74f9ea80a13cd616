package io.payrelay.webhook;

import static io.payrelay.webhook.IngestFixture.SECRET;
import static io.payrelay.webhook.IngestFixture.event;
import static io.payrelay.webhook.IngestFixture.newEventId;
import static io.payrelay.webhook.IngestFixture.signed;
import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.platform.config.Secret;
import io.payrelay.platform.telemetry.Telemetry;
import io.payrelay.platform.telemetry.TelemetryConfig;
import io.payrelay.providers.WebhookAdapter;
import io.payrelay.providers.generic.GenericWebhookConfig;
import io.payrelay.providers.generic.GenericWebhooks;
import java.net.URI;
import java.net.http.HttpRequest;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two ingests over one database, of a provider that cannot be asked. */
@Timeout(60)
class TwoIngestsIT {

  private static final AtomicInteger MISTAKES = new AtomicInteger();

  private static IngestFixture fixture;
  private static Telemetry telemetry;
  private static WebhookIngest other;

  @BeforeAll
  static void start() {
    WebhookAdapter adapter =
        new GenericWebhooks(
            new GenericWebhookConfig(
                "simulator", List.of(new Secret(SECRET)), Duration.ofMinutes(5), true));
    IngestFaults mistakes =
        new IngestFaults() {
          @Override
          public void beforeCommit() {
            if (MISTAKES.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
              throw new IllegalStateException("ours");
            }
          }
        };
    fixture = IngestFixture.start(Map.of(), mistakes, List.of(adapter));
    telemetry = Telemetry.start(new TelemetryConfig("127.0.0.1", 0));
    other =
        IngestFixture.start(
            fixture.url, fixture.login, Map.of(), IngestFaults.NONE, List.of(adapter), telemetry);
  }

  @AfterAll
  static void stop() {
    other.close();
    telemetry.close();
    fixture.close();
  }

  @Test
  void applyEachEventOnceThoughBothGetAllOfThemAtOnce() throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(16);
    try {
      List<String> payments = new ArrayList<>();
      List<Callable<Integer>> deliveries = new ArrayList<>();
      for (int i = 0; i < 20; i++) {
        String payment = fixture.payment();
        payments.add(payment);
        String body = event("charge.succeeded", payment);
        String id = newEventId();
        for (int copy = 0; copy < 3; copy++) {
          deliveries.add(() -> fixture.send(id, body));
          deliveries.add(() -> sendToOther(id, body));
        }
      }

      for (Future<Integer> answer : pool.invokeAll(deliveries)) {
        assertThat(answer.get()).isEqualTo(204);
      }

      for (String payment : payments) {
        assertThat(fixture.statusEvents(payment)).containsExactly("PENDING", "SUCCEEDED");
        assertThat(fixture.capturedMinor(payment)).isEqualTo(1999);
        assertThat(fixture.cases(payment)).isEmpty();
        assertThat(
                fixture.texts(
                    """
                    SELECT disposition || ' ' || delivery_count FROM payrelay.provider_event
                    WHERE payment_id = ?
                    """,
                    payment))
            .containsExactly("APPLIED 6");
      }
    } finally {
      pool.shutdownNow();
    }
  }

  @Test
  void theOrderDecidesWhereTheProviderCannotBeAsked() {
    String failedFirst = fixture.payment();
    fixture.send(newEventId(), event("charge.failed", failedFirst));
    sendToOther(newEventId(), event("charge.succeeded", failedFirst));
    String succeededFirst = fixture.payment();
    fixture.send(newEventId(), event("charge.succeeded", succeededFirst));
    sendToOther(newEventId(), event("charge.failed", succeededFirst));

    assertThat(fixture.status(failedFirst)).isEqualTo("FAILED");
    assertThat(fixture.cases(failedFirst)).containsExactly("LATE_SUCCESS");
    assertThat(
            fixture.texts(
                "SELECT kind FROM payrelay.ledger_posting WHERE payment_id = ?", failedFirst))
        .containsExactly("SUSPENSE_CAPTURE");
    assertThat(fixture.status(succeededFirst)).isEqualTo("SUCCEEDED");
    assertThat(fixture.capturedMinor(succeededFirst)).isEqualTo(1999);
  }

  /** In the batch, and again alone. */
  @Test
  void anEventThatOurOwnCodeThrowsAtIsKeptForAPerson() {
    String payment = fixture.payment();
    String id = newEventId();
    MISTAKES.set(2);

    assertThat(fixture.send(id, event("charge.succeeded", payment))).isEqualTo(204);

    assertThat(fixture.disposition(id)).isEqualTo("FAILED");
    assertThat(fixture.status(payment)).isEqualTo("CREATED");
    assertThat(
            fixture.texts(
                "SELECT kind FROM payrelay.exception_case WHERE evidence ->> 'event_id' = ?", id))
        .containsExactly("WEBHOOK_FAILED");
    assertThat(fixture.ingest.reprocess("simulator", id)).contains(Disposition.APPLIED);
  }

  private static int sendToOther(String eventId, String body) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(
                URI.create("http://127.0.0.1:" + other.port() + "/webhooks/simulator"))
            .timeout(Duration.ofSeconds(20))
            .POST(HttpRequest.BodyPublishers.ofString(body));
    signed(SECRET, eventId, 0, body).forEach(request::setHeader);
    return fixture.exchange(request.build()).statusCode();
  }
}
