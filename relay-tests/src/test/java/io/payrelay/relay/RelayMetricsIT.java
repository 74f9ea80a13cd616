package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.payrelay.platform.config.Secret;
import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.platform.telemetry.Telemetry;
import io.payrelay.platform.telemetry.TelemetryConfig;
import io.payrelay.schemas.EventCatalogue;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a running relay shows on /metrics and /health, and that the alert rules speak of it. */
@Timeout(90)
class RelayMetricsIT {

  private static final Path DOCS = Path.of("..", "docs");
  private static final Duration LIMIT = Duration.ofSeconds(30);

  private final Telemetry telemetry = Telemetry.start(new TelemetryConfig("127.0.0.1", 0));

  @AfterEach
  void close() {
    telemetry.close();
  }

  @Test
  void everyMetricOfTheAlertRulesIsExportedAndEveryRuleIsExplained() throws Exception {
    JsonNode file =
        new YAMLMapper().readTree(DOCS.resolve("alerts/payrelay-relay.rules.yml").toFile());
    String handbook = Files.readString(DOCS.resolve("relay.md"));
    Set<String> named = new TreeSet<>();
    for (JsonNode rule : file.path("groups").path(0).path("rules")) {
      String expression = rule.path("expr").asText();
      Matcher metric = Pattern.compile("\\bpayrelay_\\w+").matcher(expression);
      assertThat(metric.find()).as("metric in %s", expression).isTrue();
      metric.reset().results().forEach(found -> named.add(found.group()));
      assertThat(rule.path("labels").path("severity").asText()).isIn("critical", "warning", "info");
      assertThat(rule.path("annotations").path("summary").asText()).isNotBlank();
      assertThat(rule.path("annotations").path("description").asText()).isNotBlank();
      assertThat(handbook).contains("`" + rule.path("alert").asText() + "`");
    }

    try (RelayFixture fixture = RelayFixture.shared().prepared()) {
      RelayFixture.awaitState(start(fixture, fixture.kafka(), RelayFaults.NONE), RelayState.ACTIVE);

      assertThat(named).hasSizeGreaterThan(8);
      assertThat(exported()).containsAll(named);
    }
  }

  @Test
  void countsRowsByTypeAndShowsLagPositionAndLatency() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared().prepared()) {
      fixture.insertCommitted(3, 2);
      fixture.execute(
          """
          INSERT INTO payrelay.outbox (aggregate_type, aggregate_id, event_type, payload)
          VALUES ('payment', 'poison', 'NobodyKnows', '{}')
          """);
      Relay relay = start(fixture, fixture.kafka(), RelayFaults.NONE);
      await().atMost(LIMIT).until(() -> value("rows_total", "event_type=\"other\"") == 1);

      assertThat(value("rows_total", "event_type=\"ChargeRequested\"")).isEqualTo(6);
      assertThat(value("rows_total", "event_type=\"PaymentStatusChanged\"")).isZero();
      assertThat(value("dead_letters_total", "reason=\"unknown_type\"")).isEqualTo(1);
      assertThat(value("kafka_transactions_total", "committed")).isGreaterThanOrEqualTo(1);
      assertThat(value("kafka_transactions_total", "aborted")).isZero();
      assertThat(value("commit_to_acknowledged_seconds_count", "slot")).isGreaterThanOrEqualTo(1);
      assertThat(value("commit_to_acknowledged_seconds_bucket", "le=\"300.0\""))
          .isEqualTo(value("commit_to_acknowledged_seconds_count", "slot"));
      await().atMost(LIMIT).until(() -> value("slot_lag_bytes", "slot") >= 0);
      assertThat(value("slot_safe_wal_bytes", "slot")).isNaN();
      RelayFixture.awaitState(relay, RelayState.ACTIVE);
      assertThat(value("active", "slot")).isEqualTo(1);
      assertThat(value("state", "ACTIVE")).isEqualTo(1);
      await().atMost(LIMIT).until(() -> value("position_lsn_bytes", "slot") > 0);
      assertThat(value("since_progress_seconds", "slot")).isBetween(0.0, 10.0);
    }
  }

  @Test
  void countsATransactionThatDidNotEndInACommit() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared().prepared();
        OutboxOracle oracle = fixture.oracle()) {
      start(fixture, fixture.kafka(), FaultPlan.failAt(RelayFaults.Point.AFTER_SENDS, 1));
      fixture.insertCommitted(1, 5);

      assertThat(oracle.await(LIMIT).clean()).isTrue();
      assertThat(value("kafka_transactions_total", "aborted")).isEqualTo(1);
      assertThat(value("recoveries_total", "slot")).isEqualTo(1);
    }
  }

  @Test
  void aStandbyIsReadyOnceItHasReachedDatabaseAndKafka() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared().prepared()) {
      Relay active = start(fixture, fixture.kafka(), RelayFaults.NONE);
      RelayFixture.awaitState(active, RelayState.ACTIVE);
      assertThat(active.readiness()).isEqualTo("ok");

      Relay standby = start(fixture, fixture.kafka(), RelayFaults.NONE);
      Relay withoutKafka =
          start(fixture, new KafkaConfig("127.0.0.1:1", Map.of()), RelayFaults.NONE);

      await().atMost(LIMIT).until(() -> standby.readiness().equals("ok"));
      assertThat(standby.state()).isEqualTo(RelayState.STANDBY);
      await()
          .atMost(LIMIT)
          .untilAsserted(
              () ->
                  assertThat(withoutKafka.readiness())
                      .startsWith("Kafka does not answer at 127.0.0.1:1"));
      assertThat(withoutKafka.liveness()).isEqualTo("ok");
      // First, or it would get the lease and wait for Kafka with it.
      withoutKafka.close();
    }
  }

  @Test
  void aRelayThatCannotReachTheDatabaseIsAliveAndSaysWhatItWaitsFor() {
    Relay relay =
        new Relay(
            RelayFixture.shared().config,
            new DatabaseConfig(
                "jdbc:postgresql://127.0.0.1:1/x",
                "nobody",
                new Secret("hush"),
                1,
                Duration.ofSeconds(1)),
            new KafkaConfig("127.0.0.1:1", Map.of()),
            EventCatalogue.builtIn(),
            telemetry.registry(),
            Clock.systemUTC(),
            new Random(1));
    assertThat(relay.readiness()).isEqualTo("has not reached the database yet");

    relay.start();

    await()
        .atMost(LIMIT)
        .untilAsserted(
            () ->
                assertThat(relay.readiness())
                    .startsWith("starts anew after a failure: No connection to the database"));
    assertThat(relay.liveness()).isEqualTo("ok");
    assertThat(value("slot_lag_bytes", "slot")).isNaN();

    relay.close();

    assertThat(relay.liveness()).isEqualTo("the relay has ended");
  }

  private Relay start(RelayFixture fixture, KafkaConfig kafka, RelayFaults faults) {
    Relay relay =
        new Relay(
            fixture.config,
            new DatabaseConfig(
                fixture.jdbcUrl, fixture.relayUser, new Secret("any"), 2, Duration.ofSeconds(5)),
            kafka,
            EventCatalogue.builtIn(),
            telemetry.registry(),
            Clock.systemUTC(),
            new Random(7),
            faults);
    fixture.adopt(relay);
    relay.start();
    return relay;
  }

  private double value(String name, String label) {
    return scrape()
        .lines()
        .filter(line -> line.startsWith("payrelay_relay_" + name + "{") && line.contains(label))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .findFirst()
        .orElse(-1);
  }

  private Set<String> exported() {
    Set<String> names = new TreeSet<>();
    scrape()
        .lines()
        .filter(line -> !line.startsWith("#"))
        .forEach(line -> names.add(line.split("[{ ]", 2)[0]));
    return names;
  }

  private String scrape() {
    try {
      return HttpClient.newHttpClient()
          .send(
              HttpRequest.newBuilder(
                      URI.create("http://127.0.0.1:" + telemetry.port() + "/metrics"))
                  .build(),
              HttpResponse.BodyHandlers.ofString())
          .body();
    } catch (java.io.IOException e) {
      throw new java.io.UncheckedIOException(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(e);
    }
  }
}
