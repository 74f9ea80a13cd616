package io.payrelay.webhook;

import static io.payrelay.webhook.IngestFixture.OLD_SECRET;
import static io.payrelay.webhook.IngestFixture.event;
import static io.payrelay.webhook.IngestFixture.newEventId;
import static io.payrelay.webhook.IngestFixture.signed;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a running ingest shows on /metrics, and that the alert rules speak of it. */
@Timeout(60)
class WebhookMetricsIT {

  private static final Path DOCS = Path.of("..", "docs");

  private static IngestFixture fixture;

  @BeforeAll
  static void start() {
    fixture =
        IngestFixture.start(Map.of("PAYRELAY_INGEST_PARK_LIMIT_MS", "2000"), IngestFaults.NONE);
  }

  @AfterAll
  static void stop() {
    fixture.close();
  }

  @Test
  void everyMetricOfTheAlertRulesIsExportedAndEveryRuleIsExplained() throws Exception {
    JsonNode file =
        new YAMLMapper().readTree(DOCS.resolve("alerts/payrelay-webhooks.rules.yml").toFile());
    String handbook = Files.readString(DOCS.resolve("webhooks.md"));
    Set<String> named = new TreeSet<>();
    Set<String> labels = new TreeSet<>();
    for (JsonNode rule : file.path("groups").path(0).path("rules")) {
      String expression = rule.path("expr").asText();
      Matcher metric = Pattern.compile("\\bpayrelay_\\w+").matcher(expression);
      assertThat(metric.find()).as("metric in %s", expression).isTrue();
      metric.reset().results().forEach(found -> named.add(found.group()));
      Matcher label = Pattern.compile("(\\w+)=~?\"([^\"]+)\"").matcher(expression);
      while (label.find()) {
        for (String value : label.group(2).split("\\|", -1)) {
          labels.add("%s=\"%s\"".formatted(label.group(1), value));
        }
      }
      assertThat(rule.path("labels").path("severity").asText()).isIn("critical", "warning", "info");
      assertThat(rule.path("annotations").path("summary").asText()).isNotBlank();
      assertThat(rule.path("annotations").path("description").asText()).isNotBlank();
      assertThat(handbook).contains("`" + rule.path("alert").asText() + "`");
    }

    assertThat(named).hasSizeGreaterThan(5);
    String exported = fixture.telemetry("/metrics");
    assertThat(named)
        .allSatisfy(name -> assertThat(exported).containsPattern("(?m)^" + name + "[{ ]"));
    assertThat(labels).allSatisfy(label -> assertThat(exported).contains(label));
  }

  /** A reason that no rule speaks of, or two do, was added or renamed without the rules. */
  @Test
  void eachReasonToRefuseIsTheMatterOfOneAlertRule() throws Exception {
    double dropped = value("refused_total", "reason=\"id\"");
    assertThat(fixture.send(Map.of(), "{}")).isEqualTo(400);
    assertThat(value("refused_total", "reason=\"id\"")).isEqualTo(dropped + 1);
    List<String> rules = new ArrayList<>();
    new YAMLMapper()
        .readTree(DOCS.resolve("alerts/payrelay-webhooks.rules.yml").toFile())
        .findValuesAsText("expr")
        .forEach(
            expression ->
                Pattern.compile("payrelay_webhook_refused_total\\{(.*?)}")
                    .matcher(expression)
                    .results()
                    .forEach(found -> rules.add(found.group(1))));

    List<String> shown =
        fixture
            .telemetry("/metrics")
            .lines()
            .filter(line -> line.startsWith("payrelay_webhook_refused_total{"))
            .toList();

    assertThat(shown)
        .hasSizeGreaterThanOrEqualTo(Reason.ofProviders().size() + Reason.ofNobody().size())
        .allSatisfy(
            line ->
                assertThat(rules.stream().filter(rule -> fits(rule, line))).as(line).hasSize(1));
  }

  private static boolean fits(String rule, String line) {
    return Pattern.compile("(\\w+)(=~|!~|!=|=)\"([^\"]*)\"")
        .matcher(rule)
        .results()
        .allMatch(
            term -> {
              Matcher label = Pattern.compile(term.group(1) + "=\"([^\"]*)\"").matcher(line);
              boolean same = label.find() && label.group(1).matches(term.group(3));
              return same != term.group(2).startsWith("!");
            });
  }

  @Test
  void countsByProviderAndWhatBecameOfIt() {
    String payment = fixture.payment();
    String id = newEventId();
    String body = event("charge.succeeded", payment);
    double applied = value("events_total", "disposition=\"APPLIED\"");
    double duplicates = value("repeats_total", "kind=\"DUPLICATE\"");
    double contradicting = value("repeats_total", "kind=\"CONFLICTING\"");
    double refused = value("refused_total", "reason=\"signature does not fit\"");
    double unmatched = value("matched_total", "disposition=\"UNMATCHED\"");

    fixture.send(id, body);
    fixture.send(id, body);
    fixture.send(id, event("charge.pending", payment));
    fixture.send(signed(OLD_SECRET, newEventId(), 0, body), body + " ");
    fixture.send(newEventId(), event("charge.succeeded", "pay_nobody_1"));

    assertThat(value("events_total", "disposition=\"APPLIED\"")).isEqualTo(applied + 1);
    assertThat(value("repeats_total", "kind=\"DUPLICATE\"")).isEqualTo(duplicates + 1);
    assertThat(value("repeats_total", "kind=\"CONFLICTING\"")).isEqualTo(contradicting + 1);
    assertThat(value("refused_total", "reason=\"signature does not fit\"")).isEqualTo(refused + 1);
    await()
        .untilAsserted(
            () -> {
              assertThat(value("parked", "provider=\"simulator\"")).isEqualTo(1);
              assertThat(value("parked_oldest_seconds", "provider=\"simulator\"")).isPositive();
            });
    await()
        .untilAsserted(
            () -> {
              assertThat(value("matched_total", "disposition=\"UNMATCHED\""))
                  .isEqualTo(unmatched + 1);
              assertThat(value("parked", "provider=\"simulator\"")).isZero();
            });
  }

  private static double value(String metric, String label) {
    return fixture
        .telemetry("/metrics")
        .lines()
        .filter(line -> line.startsWith("payrelay_webhook_" + metric + "{"))
        .filter(line -> line.contains("provider=\"simulator\"") && line.contains(label))
        .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
        .sum();
  }
}
