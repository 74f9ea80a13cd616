package io.payrelay.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The benchmarks run and count right; how fast anything is, is no matter of tests. */
final class BenchSystemTest {

  @TempDir Path folder;

  @Test
  @Timeout(300)
  void theDrainMeasuresTheRelayAndTheLimitAndCountsEachRowOnce() throws Exception {
    JsonNode report =
        bench(
            // More than one poll of the bench's consumer can bring, warm-up included.
            "relay", "--events", "12000", "--warm-up-events", "500", "--rows-per-transaction", "7");

    assertThat(report.path("size").path("rows_per_transaction").asInt()).isEqualTo(7);
    for (String name : List.of("relay", "limit")) {
      JsonNode drain = report.path(name);
      assertThat(drain.path("rows_per_s").asDouble()).as(name).isPositive();
      assertThat(drain.path("seconds").asDouble()).as(name).isPositive();
      assertThat(drain.path("visible").asLong()).as(name).isEqualTo(12_500);
      assertThat(drain.path("missing").asLong(-1)).as(name).isZero();
      assertThat(drain.path("surplus").asLong(-1)).as(name).isZero();
    }
    assertThat(report.path("relay_to_limit").asDouble()).isPositive();
    assertThat(report.path("relay").path("cpu_seconds_per_million").isNumber()).isTrue();
    assertThat(report.path("relay").path("peak_memory_mb").isNumber()).isTrue();
    assertThat(report.path("machine").path("cpus").asInt()).isPositive();
  }

  @Test
  @Timeout(300)
  void theLatencyIsOfEveryEventOfTheLoadAndOfNoneTwice() throws Exception {
    JsonNode report =
        bench("latency", "--rate", "100", "--seconds", "3", "--warm-up-seconds", "2").path("relay");

    assertThat(report.path("events").asLong()).isEqualTo(300);
    assertThat(report.path("missing").asLong(-1)).isZero();
    assertThat(report.path("surplus").asLong(-1)).isZero();
    for (String from : List.of("after_commit", "before_commit", "from_schedule")) {
      JsonNode percentiles = report.path(from);
      assertThat(percentiles.path("p50_ms").asDouble())
          .as(from)
          .isPositive()
          .isLessThanOrEqualTo(percentiles.path("p99_ms").asDouble());
      assertThat(percentiles.path("p99_ms").asDouble())
          .as(from)
          .isLessThanOrEqualTo(percentiles.path("max_ms").asDouble());
    }
  }

  @Test
  @Timeout(300)
  void webhooksAreAllStoredAndTheirPaymentsConfirmed() throws Exception {
    JsonNode report =
        bench("webhooks", "--events", "300", "--warm-up-events", "100", "--connections", "8")
            .path("webhooks");

    assertThat(report.path("answers").path("204").asInt()).isEqualTo(400);
    assertThat(report.path("not_stored").asInt(-1)).isZero();
    assertThat(report.path("not_confirmed").asInt(-1)).isZero();
    assertThat(report.path("webhooks_per_s").asDouble()).isPositive();
    assertThat(report.path("latency").path("p50_ms").asDouble())
        .isPositive()
        .isLessThanOrEqualTo(report.path("latency").path("p99_ms").asDouble());
    assertThat(report.path("ingest_cpu_seconds_per_million").asDouble()).isPositive();
  }

  private JsonNode bench(String... arguments) throws Exception {
    Path file = folder.resolve("report.json");
    List<String> line = new ArrayList<>(List.of("bench"));
    line.addAll(List.of(arguments));
    line.addAll(List.of("--report", file.toString()));
    try (Child bench = Child.start(folder, Map.of(), line.toArray(String[]::new))) {
      int exit = bench.exitCode(Duration.ofMinutes(4));

      assertThat(exit).as("%s%n%s", bench.output(), bench.errors()).isZero();
      return new ObjectMapper().readTree(file.toFile());
    }
  }
}
