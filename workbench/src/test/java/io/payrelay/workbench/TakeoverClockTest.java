package io.payrelay.workbench;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class TakeoverClockTest {

  private static final long MS = 1_000_000;

  private final TakeoverClock clock = new TakeoverClock();

  @Test
  void measuresFromTheKillToTheFirstRecordOfALaterTime() {
    clock.died(10 * MS, 1_000);
    clock.visible(1_000, 20 * MS);
    clock.visible(1_500, 510 * MS);
    clock.visible(1_600, 900 * MS);

    assertThat(clock.longestMs()).isEqualTo(500);
    assertThat(clock.count()).isEqualTo(1);
    assertThat(clock.running()).isFalse();
  }

  @Test
  void secondKillDuringATakeoverBeginsAnew() {
    clock.died(0, 1_000);
    clock.died(4_000 * MS, 5_000);
    clock.visible(6_000, 5_000 * MS);

    assertThat(clock.longestMs()).isEqualTo(1_000);
    assertThat(clock.count()).isEqualTo(1);
  }

  @Test
  void keepsTheLongest() {
    clock.died(0, 1_000);
    clock.visible(1_001, 700 * MS);
    clock.died(2_000 * MS, 3_000);
    clock.visible(3_001, 2_100 * MS);

    assertThat(clock.longestMs()).isEqualTo(700);
  }
}
