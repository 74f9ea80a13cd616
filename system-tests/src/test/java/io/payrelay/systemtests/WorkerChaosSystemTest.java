package io.payrelay.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** The chaos command as a person runs it, for a short time. */
final class WorkerChaosSystemTest {

  private static final boolean LONG = Boolean.getBoolean("payrelay.long");

  @TempDir Path folder;

  /** Either way alone has to be enough; in the short form one run with both stands for them. */
  static Stream<Arguments> runs() {
    return LONG
        ? Stream.of(
            Arguments.of("both", 100), Arguments.of("webhooks", 30), Arguments.of("queries", 30))
        : Stream.of(Arguments.of("both", 8));
  }

  @ParameterizedTest
  @MethodSource("runs")
  @Timeout(1800)
  void killedAndFrozenWorkersChargeOnceAndLoseNoResult(String learnBy, int kills) throws Exception {
    long seed = Long.getLong("payrelay.seed", 3);
    Path file = folder.resolve("chaos.json");
    try (Child chaos =
        Child.startWithHeap(
            768,
            folder,
            Map.of(),
            "chaos",
            "worker",
            "--kills",
            Integer.toString(kills),
            "--seed",
            Long.toString(seed),
            "--learn-by",
            learnBy,
            "--report",
            file.toString())) {

      int exitCode = chaos.exitCode(Duration.ofMinutes(LONG ? 28 : 10));

      assertThat(exitCode).as("%s%n%s", chaos.output(), chaos.errors()).isZero();
      JsonNode report = new ObjectMapper().readTree(file.toFile());
      System.out.println(report);
      assertThat(report.path("kills").asInt()).isEqualTo(kills);
      assertThat(report.path("freezes").asInt()).isPositive();
      assertThat(report.path("kills_by_kind").path("AT_RANDOM_INSTANT").asInt())
          .as("the named points are reached, too")
          .isLessThan(kills);
      for (String point : new String[] {"AFTER_CLAIM", "AFTER_CHARGE", "AFTER_ANSWER"}) {
        assertThat(report.path("kills_by_kind").path(point).asInt()).as(point).isPositive();
      }
      assertThat(report.path("payments").asLong()).isGreaterThan(10L * kills);
      assertThat(report.path("refunds").asLong()).isPositive();
      for (String zero :
          new String[] {
            "unresolved",
            "double_charges",
            "charged_but_not_succeeded",
            "succeeded_but_not_charged",
            "failed_but_charged",
            "missing_status_events",
            "duplicate_status_events",
            "ledger_differences",
            "exception_cases",
            "unresolved_refunds",
            "refunds_beyond_captured",
            "double_refunds",
            "refund_differences",
            "refunds_returned_without_case",
            "missing_refund_events",
            "own_exits"
          }) {
        assertThat(report.path(zero).asLong(-1)).as(zero).isZero();
      }
    }
  }
}
