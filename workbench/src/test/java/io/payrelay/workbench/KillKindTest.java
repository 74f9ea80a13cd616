package io.payrelay.workbench;

import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.relay.RelayFaults;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

class KillKindTest {

  @Test
  void nineKillsHaveEachKind() {
    assertThat(KillKind.plan(9, new SplittableRandom(1))).contains(KillKind.values());
  }

  @Test
  void sameSeedGivesTheSamePlanAndAnotherSeedAnother() {
    List<KillKind> plan = KillKind.plan(200, new SplittableRandom(1));

    assertThat(plan).hasSize(200).isEqualTo(KillKind.plan(200, new SplittableRandom(1)));
    assertThat(plan).isNotEqualTo(KillKind.plan(200, new SplittableRandom(2)));
  }

  @Test
  void eightKillsOfWorkersHaveEachKind() {
    assertThat(WorkerKillKind.plan(8, new SplittableRandom(1))).contains(WorkerKillKind.values());
  }

  @Test
  void processDiesAtTheOrderedPassOfTheOrderedPoint() {
    List<String> deaths = new ArrayList<>();
    DeathOrder order = new DeathOrder(() -> deaths.add("dead"));
    order.reached(RelayFaults.Point.AFTER_SENDS);
    order.dieAt("AFTER_SENDS", 2);

    order.reached(RelayFaults.Point.AFTER_SENDS);
    order.reached(RelayFaults.Point.BEFORE_COMMIT);
    assertThat(deaths).isEmpty();
    order.reached(RelayFaults.Point.AFTER_SENDS);

    assertThat(deaths).hasSize(1);
  }
}
