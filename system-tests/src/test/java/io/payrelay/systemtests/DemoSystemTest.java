package io.payrelay.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The README's first command, in the storm. */
final class DemoSystemTest {

  @TempDir Path folder;

  @Test
  @Timeout(300)
  void theDemoInAStormHoldsEveryInvariantAndSaysSo() throws Exception {
    demo(System.getProperty("java.home"));
  }

  @Test
  @Timeout(300)
  @EnabledIfSystemProperty(named = "payrelay.otherJdk", matches = ".+")
  void theDemoRunsOnTheOtherJdkToo() throws Exception {
    demo(System.getProperty("payrelay.otherJdk"));
  }

  /** Either way alone has to be enough: webhooks get lost, and some providers answer no queries. */
  @ParameterizedTest
  @ValueSource(strings = {"webhooks", "queries"})
  @Timeout(300)
  void theDemoInAStormHoldsWithOneWayToLearnAlone(String learnBy) throws Exception {
    Result result = demo(System.getProperty("java.home"), "--learn-by", learnBy);

    boolean webhooks = learnBy.equals("webhooks");
    Matcher queries =
        Pattern.compile("queries what became of a call +(\\d+)").matcher(result.output());
    assertThat(queries.find()).isTrue();
    long asked = Long.parseLong(queries.group(1));
    long received = result.report().path("webhooks_received").asLong(-1);
    assertThat(webhooks ? asked : received).as("the way that is closed").isZero();
    assertThat(webhooks ? received : asked).as("the way that is open").isPositive();
  }

  private record Result(String output, JsonNode report) {}

  private Result demo(String javaHome, String... more) throws Exception {
    Path file = folder.resolve("report.json");
    List<String> arguments =
        new ArrayList<>(
            List.of(
                "demo",
                "--payments",
                "150",
                "--faults",
                "storm",
                "--seed",
                "7",
                "--report",
                file.toString()));
    arguments.addAll(List.of(more));
    try (Child demo = Child.startOn(javaHome, folder, Map.of(), arguments.toArray(String[]::new))) {
      int exit = demo.exitCode(Duration.ofMinutes(4));

      assertThat(exit).as("%s%n%s", demo.output(), demo.errors()).isZero();
      assertThat(demo.output()).contains("All invariants hold.");
      JsonNode report = new ObjectMapper().readTree(file.toFile());
      assertThat(report.path("payments").asLong()).isEqualTo(150);
      assertThat(report.path("succeeded").asLong() + report.path("failed").asLong()).isEqualTo(150);
      assertThat(report.path("provider_charges").asLong())
          .isEqualTo(report.path("succeeded").asLong())
          .isPositive();
      assertThat(report.path("status_events").asLong()).isGreaterThanOrEqualTo(300);
      for (String zero :
          List.of(
              "unresolved",
              "double_charges",
              "charged_but_not_succeeded",
              "succeeded_but_not_charged",
              "duplicate_status_events",
              "missing_status_events",
              "unbalanced_postings",
              "exception_cases",
              "unresolved_refunds",
              "refunds_beyond_captured",
              "double_refunds",
              "refund_differences",
              "refunds_returned_without_case",
              "missing_refund_events",
              "duplicate_refund_events",
              "out_of_order_refund_events")) {
        assertThat(report.path(zero).isIntegralNumber()).as(zero).isTrue();
        assertThat(report.path(zero).asLong()).as(zero).isZero();
      }
      assertThat(report.path("refunds").asLong()).isPositive();
      assertThat(report.path("elapsed_s").asDouble()).isPositive();
      return new Result(demo.output(), report);
    }
  }
}
