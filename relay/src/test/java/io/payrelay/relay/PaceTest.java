package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import org.junit.jupiter.api.Test;

final class PaceTest {

  private static final int MAX = 2048;
  private static final long OLD_NS = Duration.ofSeconds(5).toNanos();
  private static final long FRESH_NS = Duration.ofMillis(20).toNanos();
  private static final long TOOK_NS = Duration.ofMillis(6).toNanos();

  @Test
  void lateRowsGatherUntilTheCycleIsOver() {
    assertThat(Pace.pauseNs(Pace.ROWS_MIN, MAX, OLD_NS, TOOK_NS))
        .isEqualTo(Pace.CYCLE_NS - TOOK_NS);
  }

  @Test
  void whatIsRelayedAsItIsCommittedNeverWaitsHoweverMuchItIs() {
    assertThat(Pace.pauseNs(2000, MAX, FRESH_NS, TOOK_NS)).isZero();
  }

  @Test
  void aSlowStreamNeverWaitsHoweverOldItsRowsLook() {
    assertThat(Pace.pauseNs(Pace.ROWS_MIN - 1, MAX, OLD_NS, TOOK_NS)).isZero();
  }

  @Test
  void aBatchThatTookLongerThanACycleIsFollowedAtOnce() {
    assertThat(Pace.pauseNs(2000, MAX, OLD_NS, Pace.CYCLE_NS + 1)).isZero();
  }

  @Test
  void rowsFromTheFutureOfAnotherClockDoNotWait() {
    assertThat(Pace.pauseNs(2000, MAX, -OLD_NS, TOOK_NS)).isZero();
  }

  @Test
  void aFullBatchIsFollowedAtOnceSoThatABacklogHasNoCeiling() {
    assertThat(Pace.pauseNs(MAX, MAX, OLD_NS, TOOK_NS)).isZero();
  }
}
