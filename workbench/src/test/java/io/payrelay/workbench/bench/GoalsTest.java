package io.payrelay.workbench.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

final class GoalsTest {

  @Test
  void areHeldAgainstTheBestOfTheOthers() {
    List<Goals.Goal> goals =
        Goals.of(
            List.of(
                drain("ours", 30_000),
                drain(BareReader.NAME, 32_000),
                drain("a", 9_000),
                drain("b", 16_000)),
            List.of(latency("ours", 7, 30), latency("a", 400, 900), latency("b", 6, 50)));

    assertThat(goals)
        .filteredOn(goal -> !goal.met())
        .extracting(Goals.Goal::what)
        .containsExactly("drain to Debezium Server's best", "p50 to Debezium Server's best");
    assertThat(Goals.text(goals))
        .contains("MISSED", "| drain to a bare reader's         |   >= 0.9 |     0.94 | met");
  }

  private static Drain.Figures drain(String name, double rowsPerS) {
    return new Drain.Figures(name, 1000, 1, rowsPerS, 30, 380, 1000, 0, 0);
  }

  private static Latency.Figures latency(String name, double p50, double p99) {
    Latency.Percentiles percentiles = new Latency.Percentiles(p50, p99, p99, p99);
    return new Latency.Figures(
        name, 500, 10, 5000, percentiles, percentiles, percentiles, 1, 0.5, 380, 0, 0);
  }
}
