package io.payrelay.workbench;

import io.payrelay.relay.RelayFaults;
import java.util.List;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** How a relay process is killed. */
enum KillKind {
  /** The active one, whatever it is doing. */
  AT_RANDOM_INSTANT(2, null),
  /**
   * Whoever owns the slot soon after another kill: in the middle of its takeover, if it is late.
   */
  DURING_TAKEOVER(2, null),
  /** One that waits. */
  STANDBY(1, null),
  AFTER_BEGIN(1, RelayFaults.Point.AFTER_BEGIN),
  AFTER_SENDS(1, RelayFaults.Point.AFTER_SENDS),
  BEFORE_COMMIT(1, RelayFaults.Point.BEFORE_COMMIT),
  /** After the commit, before memory, engine and slot learn of it. */
  AFTER_COMMIT(1, RelayFaults.Point.AFTER_COMMIT);

  private final int share;
  private final RelayFaults.@Nullable Point point;

  KillKind(int share, RelayFaults.@Nullable Point point) {
    this.share = share;
    this.point = point;
  }

  /** The place where the process itself dies; null: it is killed from outside. */
  RelayFaults.@Nullable Point point() {
    return point;
  }

  /** Mixed anew in each round of nine, so that a short run has each kind too. */
  static List<KillKind> plan(int kills, RandomGenerator random) {
    return KillPlan.of(kills, List.of(values()), kind -> kind.share, random);
  }
}
