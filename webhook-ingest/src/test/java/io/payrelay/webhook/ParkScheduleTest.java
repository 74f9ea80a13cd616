package io.payrelay.webhook;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;

class ParkScheduleTest {

  private final ParkSchedule schedule =
      new ParkSchedule(Duration.ofMillis(500), Duration.ofMinutes(5), Duration.ofHours(1));

  @Test
  void doublesFromTheFirstToTheLongest() {
    assertThat(schedule.delay(0)).isEqualTo(Duration.ofMillis(500));
    assertThat(schedule.delay(1)).isEqualTo(Duration.ofSeconds(1));
    assertThat(schedule.delay(3)).isEqualTo(Duration.ofSeconds(4));
    assertThat(schedule.delay(20)).isEqualTo(Duration.ofMinutes(5));
  }

  @Property
  void staysBetweenTheFirstAndTheLongest(@ForAll int looks) {
    assertThat(schedule.delay(looks)).isBetween(Duration.ofMillis(500), Duration.ofMinutes(5));
  }
}
