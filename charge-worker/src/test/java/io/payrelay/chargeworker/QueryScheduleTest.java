package io.payrelay.chargeworker;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class QueryScheduleTest {

  private final QuerySchedule schedule =
      new QuerySchedule(
          List.of(Duration.ofMillis(100), Duration.ofMillis(400)),
          Duration.ofSeconds(2),
          new Random(1));

  @Test
  void followsTheListThenDoublesUpToTheCap() {
    assertThat(List.of(0, 1, 2, 3, 4, 1_000))
        .map(schedule::ceilingMs)
        .containsExactly(100L, 400L, 800L, 1_600L, 2_000L, 2_000L);
  }

  @Property
  void staysWithinHalfAndWhole(@ForAll @IntRange(max = 100) int queries) {
    long ceilingMs = schedule.ceilingMs(queries);

    assertThat(schedule.delay(queries).toMillis()).isBetween(ceilingMs / 2, ceilingMs);
  }
}
