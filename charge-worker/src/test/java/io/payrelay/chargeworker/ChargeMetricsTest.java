package io.payrelay.chargeworker;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import io.payrelay.payments.lifecycle.ExceptionKind;
import io.payrelay.payments.store.AttemptOutcome;
import io.payrelay.payments.store.BacklogStore.Waiting;
import io.payrelay.payments.store.OperationAction;
import io.payrelay.platform.config.Settings;
import io.payrelay.platform.telemetry.Telemetry;
import io.payrelay.platform.telemetry.TelemetryConfig;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What a worker shows on /metrics, and that the alert rules and the handbook speak of it. */
class ChargeMetricsTest {

  private static final Path DOCS = Path.of("..", "docs");

  private final Telemetry telemetry = Telemetry.start(new TelemetryConfig("127.0.0.1", 0));
  private final ProviderLane lane =
      new ProviderLane(
          new ProviderLaneTest.Silent(),
          ChargeConfig.from(Settings.check(Map.of(), ChargeConfig.SETTINGS, ChargeConfig.SETTINGS)),
          "owner",
          new Random(1));
  private ChargeMetrics metrics;

  @BeforeEach
  void make() {
    metrics = new ChargeMetrics(telemetry.registry(), List.of(lane));
    metrics.held(() -> 6);
  }

  @AfterEach
  void close() {
    telemetry.close();
  }

  @Test
  void everyMetricOfTheAlertRulesIsExportedAndEveryRuleIsExplained() throws Exception {
    JsonNode file =
        new YAMLMapper().readTree(DOCS.resolve("alerts/payrelay-charge-worker.rules.yml").toFile());
    String handbook = Files.readString(DOCS.resolve("operations.md"));
    Set<String> named = new TreeSet<>();
    Set<String> kinds = new TreeSet<>();
    for (JsonNode rule : file.path("groups").path(0).path("rules")) {
      String expression = rule.path("expr").asText();
      Matcher metric = Pattern.compile("\\bpayrelay_\\w+").matcher(expression);
      assertThat(metric.find()).as("metric in %s", expression).isTrue();
      metric.reset().results().forEach(found -> named.add(found.group()));
      Pattern.compile("[A-Z]+_[A-Z_]+")
          .matcher(expression.replace("RETURNED_UNSENT", "").replace("NOT_PROCESSED", ""))
          .results()
          .forEach(found -> kinds.add(found.group()));
      assertThat(rule.path("labels").path("severity").asText()).isIn("critical", "warning", "info");
      assertThat(rule.path("annotations").path("summary").asText()).isNotBlank();
      assertThat(rule.path("annotations").path("description").asText()).isNotBlank();
      assertThat(handbook).contains("`" + rule.path("alert").asText() + "`");
    }
    kinds.remove("_MISMATCH");
    // A timer is there once there was a call.
    metrics.call(
        "silent", false, OperationAction.CALL, AttemptOutcome.UNKNOWN, Duration.ofMillis(5));

    String scraped = scrape();

    assertThat(named).hasSizeGreaterThan(8);
    assertThat(names(scraped)).containsAll(named);
    assertThat(kinds)
        .hasSizeGreaterThan(6)
        .isSubsetOf(Arrays.stream(ExceptionKind.values()).map(Enum::name).toList());
    for (String name : names(scraped)) {
      if (name.startsWith("payrelay_") && !name.endsWith("_max")) {
        assertThat(handbook).as("the handbook on %s", name).contains(base(name));
      }
    }
  }

  @Test
  void showsEachProviderAndEachKindOfCase() throws Exception {
    metrics.backlog(
        Map.of("silent", new Waiting(3, 7_000, 11, 2)),
        Map.of("silent", new Waiting(1, 9_000, 5, 4)),
        Map.of("UNRESOLVED", 4L));
    metrics.call(
        "silent", true, OperationAction.QUERY, AttemptOutcome.NOT_FOUND, Duration.ofMillis(5));
    metrics.abandoned("silent", true, 2);
    lane.inFlight().add(5);
    lane.breaker().transitionToOpenState();

    assertThat(scrape())
        .contains("unknown_count{operation=\"CHARGE\",provider=\"silent\"} 3.0")
        .contains("unknown_count{operation=\"REFUND\",provider=\"silent\"} 1.0")
        .contains("unknown_age_max_seconds{operation=\"CHARGE\",provider=\"silent\"} 7.0")
        .contains("unknown_age_max_seconds{operation=\"REFUND\",provider=\"silent\"} 9.0")
        .contains("charge_due{operation=\"CHARGE\",provider=\"silent\"} 11.0")
        .contains("charge_due{operation=\"REFUND\",provider=\"silent\"} 5.0")
        .contains("keys_near_expiry{operation=\"CHARGE\",provider=\"silent\"} 2.0")
        .contains("keys_near_expiry{operation=\"REFUND\",provider=\"silent\"} 4.0")
        .contains("payrelay_charge_held 6.0")
        .contains("charge_abandoned_total{operation=\"CHARGE\",provider=\"silent\"} 0.0")
        .contains("charge_abandoned_total{operation=\"REFUND\",provider=\"silent\"} 2.0")
        .contains("payrelay_charge_in_flight{provider=\"silent\"} 5.0")
        .contains("payrelay_charge_pause_seconds{provider=\"silent\"} 0.0")
        .contains("payrelay_charge_breaker_state{provider=\"silent\"} 1.0")
        .contains("payrelay_exceptions_open{kind=\"UNRESOLVED\"} 4.0")
        .contains("payrelay_exceptions_open{kind=\"DOUBLE_CHARGE\"} 0.0")
        .contains(
            "action=\"QUERY\",operation=\"REFUND\",outcome=\"NOT_FOUND\",provider=\"silent\"} 1");
  }

  private static String base(String name) {
    return name.replaceAll("_(seconds_count|seconds_sum|bucket)$", "");
  }

  private static Set<String> names(String scraped) {
    Set<String> names = new TreeSet<>();
    scraped
        .lines()
        .filter(line -> !line.startsWith("#"))
        .forEach(line -> names.add(line.split("[{ ]", 2)[0]));
    return names;
  }

  private String scrape() throws Exception {
    return HttpClient.newHttpClient()
        .send(
            HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + telemetry.port() + "/metrics"))
                .build(),
            HttpResponse.BodyHandlers.ofString())
        .body();
  }
}
