package io.payrelay.webhook;

import static io.payrelay.webhook.Disposition.FAILED;
import static io.payrelay.webhook.IngestFixture.event;
import static io.payrelay.webhook.IngestFixture.newEventId;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.payrelay.providers.WebhookAdapter;
import io.payrelay.webhook.ParkedMatcher.Manner;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.jdbi.v3.core.Jdbi;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Parked events, by matchers that a test steps; the ingest's own looks far too seldom. */
@Timeout(60)
class ParkedMatcherIT {

  private static final ParkSchedule PARK =
      new ParkSchedule(Duration.ofMillis(1), Duration.ofMillis(1), Duration.ofHours(1));

  private static IngestFixture fixture;

  @BeforeAll
  static void start() {
    fixture =
        IngestFixture.start(
            Map.of(
                "PAYRELAY_INGEST_PARK_DELAY_FIRST_MS", "60000",
                "PAYRELAY_INGEST_MATCH_INTERVAL_MS", "60000"),
            IngestFaults.NONE);
  }

  @AfterAll
  static void stop() {
    fixture.close();
  }

  private static ParkedMatcher matcher(Jdbi jdbi, WebhookAdapter adapter) {
    return matcher(jdbi, adapter, PARK, Manner.loop(Duration.ofSeconds(5)));
  }

  private static ParkedMatcher matcher(Jdbi jdbi, ParkSchedule park, Manner manner) {
    return matcher(jdbi, IngestFixture.adapter(), park, manner);
  }

  private static ParkedMatcher matcher(
      Jdbi jdbi, WebhookAdapter adapter, ParkSchedule park, Manner manner) {
    return new ParkedMatcher(
        jdbi,
        ParkedMatcher.byName(List.of(adapter)),
        InstantSource.system(),
        park,
        new IngestMetrics(new SimpleMeterRegistry()),
        manner);
  }

  /** Parked, because the payment comes later. */
  private static String parked(String payment) {
    String id = newEventId();
    assertThat(fixture.send(id, event("charge.succeeded", payment))).isEqualTo(204);
    assertThat(fixture.disposition(id)).isEqualTo("PARKED");
    due(id);
    return id;
  }

  @Test
  void oneBusyPaymentHoldsUpNoOther() {
    String first = parked("pay_busy_1");
    String second = parked("pay_free_1");
    fixture.payment("pay_busy_1");
    fixture.payment("pay_free_1");
    // Another one than the lock's: on one thread Jdbi would take the same connection.
    Jdbi jdbi = Jdbi.create(fixture.connections);
    ParkedMatcher matcher = matcher(jdbi, IngestFixture.adapter());
    ParkedMatcher byHand =
        ParkedMatcher.forCommands(
            jdbi, List.of(IngestFixture.adapter()), InstantSource.system(), PARK);

    fixture.owner.useTransaction(
        tx -> {
          tx.select("SELECT 1 FROM payrelay.payment WHERE payment_id = 'pay_busy_1' FOR UPDATE")
              .mapTo(Integer.class)
              .one();
          long beganNs = System.nanoTime();
          assertThat(matcher.runOnce()).isGreaterThanOrEqualTo(2);
          assertThat(Duration.ofNanos(System.nanoTime() - beganNs))
              .isLessThan(Duration.ofSeconds(5));
          assertThat(fixture.disposition(second)).isEqualTo("APPLIED");
          assertThat(fixture.disposition(first)).isEqualTo("PARKED");
          assertThatThrownBy(() -> byHand.reprocess("simulator", first))
              .hasMessageContaining("another session holds its payment");
          assertThat(fixture.disposition(first)).isEqualTo("PARKED");
        });

    await()
        .untilAsserted(
            () -> {
              matcher.runOnce();
              assertThat(fixture.disposition(first)).isEqualTo("APPLIED");
            });
    assertThat(fixture.cases("pay_busy_1")).isEmpty();
  }

  @Test
  void whatIsHeldToTheEndBecomesACaseAndKeepsItsFirstReason() {
    Duration limit = Duration.ofMillis(1);
    ParkSchedule over = new ParkSchedule(limit, limit, limit);
    Manner impatient = new Manner(Duration.ofMillis(200), Duration.ofSeconds(5), false);
    String held = parked("pay_held_1");
    String slow = parked("pay_held_2");
    fixture.payment("pay_held_1");
    fixture.payment("pay_held_2");
    Jdbi jdbi = fixture.owner;

    Jdbi.create(fixture.connections)
        .useTransaction(
            tx -> {
              tx.select(
                      "SELECT 1 FROM payrelay.payment WHERE payment_id LIKE 'pay_held_%' FOR UPDATE")
                  .mapTo(Integer.class)
                  .list();
              putOff(slow);
              matcher(jdbi, over, Manner.loop(Duration.ofSeconds(5))).runOnce();
              assertThat(fixture.disposition(held)).as("at its first look").isEqualTo("PARKED");
              lookedAtThrice(held);
              lookedAtThrice(slow);
              due(held);
              matcher(jdbi, over, Manner.loop(Duration.ofSeconds(5))).runOnce();
              due(slow);
              matcher(jdbi, PARK, impatient).runOnce();
              assertThat(fixture.disposition(slow)).as("not yet").isEqualTo("PARKED");
              due(slow);
              matcher(jdbi, over, impatient).runOnce();
            });

    assertThat(caseOf(held)).startsWith("another session holds its payment, also at its last look");
    assertThat(caseOf(slow))
        .startsWith("a statement on it took longer than it may, also at its last look");
    String first = reason(held);
    assertThat(matcher(jdbi, unreading()).reprocess("simulator", held)).contains(FAILED);
    assertThat(reason(held)).startsWith("IllegalStateException").endsWith("; at first: " + first);
    assertThat(matcher(jdbi, unreading()).reprocess("simulator", held)).contains(FAILED);
    assertThat(reason(held)).containsOnlyOnce("at first: ").endsWith(first);
    assertThat(matcher(jdbi, IngestFixture.adapter()).reprocess("simulator", held))
        .contains(Disposition.APPLIED);
    assertThat(reason(held)).isEqualTo("CREATED to SUCCEEDED; at first: " + first);
    assertThat(caseOf(held)).as("as it was opened").isEqualTo(first);
  }

  private static String caseOf(String eventId) {
    return fixture.text(
        """
        SELECT evidence ->> 'reason' FROM payrelay.exception_case
        WHERE kind = 'WEBHOOK_FAILED' AND evidence ->> 'event_id' = ?
        """,
        eventId);
  }

  private static String reason(String eventId) {
    return fixture.text(
        "SELECT disposition_reason FROM payrelay.provider_event WHERE event_id = ?", eventId);
  }

  private static void lookedAtThrice(String eventId) {
    fixture.execute(
        "UPDATE payrelay.provider_event SET match_count = 3 WHERE event_id = ?", eventId);
  }

  private static void due(String eventId) {
    fixture.execute(
        "UPDATE payrelay.provider_event SET next_match_at = clock_timestamp() WHERE event_id = ?",
        eventId);
  }

  private static void putOff(String eventId) {
    fixture.execute(
        "UPDATE payrelay.provider_event SET next_match_at = 'infinity' WHERE event_id = ?",
        eventId);
  }

  @Test
  void whatSomebodyAppliedMeanwhileIsNotCalledFailed() {
    String id = parked("pay_meanwhile_1");
    AtomicInteger opened = new AtomicInteger();
    Jdbi raced =
        Jdbi.create(
            () -> {
              // The first transaction has failed; before its failure is written another one
              // decides.
              if (opened.incrementAndGet() == 2) {
                fixture.execute(
                    "UPDATE payrelay.provider_event SET disposition = 'APPLIED', next_match_at = NULL"
                        + " WHERE event_id = ?",
                    id);
              }
              return fixture.connections.getConnection();
            });

    matcher(raced, unreading()).runOnce();

    assertThat(opened.get()).isGreaterThan(1);
    assertThat(fixture.disposition(id)).isEqualTo("APPLIED");
    assertThat(
            fixture.count(
                "SELECT count(*) FROM payrelay.exception_case WHERE evidence ->> 'event_id' = ?",
                id))
        .isZero();
  }

  @Test
  void eventsOfOthersProvidersAreLeftToTheIngestThatReadsThem() {
    String id = parked("pay_others_1");
    WebhookAdapter other = named("acme");

    assertThat(matcher(fixture.owner, other).runOnce()).isZero();

    assertThat(fixture.disposition(id)).isEqualTo("PARKED");
    fixture.payment("pay_others_1");
    assertThat(matcher(fixture.owner, IngestFixture.adapter()).runOnce()).isPositive();
    assertThat(fixture.disposition(id)).isEqualTo("APPLIED");
  }

  /** A bug of ours. */
  private static WebhookAdapter unreading() {
    return changed(
        "read",
        () -> {
          throw new IllegalStateException("a bug");
        });
  }

  private static WebhookAdapter named(String name) {
    return changed("name", () -> name);
  }

  private static WebhookAdapter changed(String method, java.util.function.Supplier<Object> to) {
    WebhookAdapter real = IngestFixture.adapter();
    return (WebhookAdapter)
        Proxy.newProxyInstance(
            WebhookAdapter.class.getClassLoader(),
            new Class<?>[] {WebhookAdapter.class},
            (proxy, called, arguments) -> {
              if (called.getName().equals(method)) {
                return to.get();
              }
              try {
                return called.invoke(real, arguments);
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            });
  }
}
