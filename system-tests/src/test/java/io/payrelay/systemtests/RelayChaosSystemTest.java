package io.payrelay.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The chaos command as a person runs it, for a short time. */
final class RelayChaosSystemTest {

  private static final boolean LONG = Boolean.getBoolean("payrelay.long");
  private static final int KILLS = LONG ? 60 : 9;
  private static final int SECONDS = LONG ? 240 : 20;

  private static final List<String> KINDS =
      List.of(
          "AT_RANDOM_INSTANT",
          "DURING_TAKEOVER",
          "STANDBY",
          "AFTER_BEGIN",
          "AFTER_SENDS",
          "BEFORE_COMMIT",
          "AFTER_COMMIT");

  @TempDir Path folder;

  @Test
  @Timeout(1800)
  void killedRelaysLoseNothingDoubleNothingAndKeepTheOrder() throws Exception {
    long seed = Long.getLong("payrelay.seed", 7);
    Path file = folder.resolve("chaos.json");
    try (Child chaos =
        Child.startWithHeap(
            1024,
            folder,
            Map.of(),
            "chaos",
            "relay",
            "--kills",
            Integer.toString(KILLS),
            "--seed",
            Long.toString(seed),
            "--seconds",
            Integer.toString(SECONDS),
            "--report",
            file.toString())) {

      int exitCode = chaos.exitCode(Duration.ofMinutes(LONG ? 28 : 12));

      assertThat(exitCode).as("%s%n%s", chaos.output(), chaos.errors()).isZero();
      JsonNode report = new ObjectMapper().readTree(file.toFile());
      System.out.println(report);
      assertThat(report.get("kills").intValue()).isEqualTo(KILLS);
      assertThat(report.get("rows").longValue()).isGreaterThan(100L * KILLS);
      for (String zero :
          List.of("lost", "duplicated", "out_of_order", "invented", "misrouted", "own_exits")) {
        assertThat(report.get(zero).longValue()).as(zero).isZero();
      }
      assertNothingWasLeftOut(report);
    }
  }

  /** Zeros say nothing where the storm was none; a point not reached counts as a random instant. */
  private static void assertNothingWasLeftOut(JsonNode report) {
    for (String kind : KINDS) {
      assertThat(report.get("kills_by_kind").path(kind).intValue()).as(kind).isPositive();
    }
    for (String some :
        List.of("walsender_terminations", "transactions_rolled_back", "dead_letters")) {
      assertThat(report.get(some).longValue()).as(some).isPositive();
    }
    // A kill during a takeover belongs to the takeover before it.
    assertThat(report.get("takeovers").longValue()).isBetween(KILLS / 3L, (long) KILLS);
  }
}
