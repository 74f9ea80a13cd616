package io.payrelay.workbench;

import io.payrelay.chargeworker.ChargeFaults;
import java.util.List;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** How a charge worker process is killed. */
enum WorkerKillKind {
  AT_RANDOM_INSTANT(2, null),
  /** Operations are committed, the offsets of their events are not. */
  AFTER_ACCEPT(1, ChargeFaults.Point.AFTER_ACCEPT),
  /** The same of refunds. */
  AFTER_REFUND_ACCEPT(1, ChargeFaults.Point.AFTER_REFUND_ACCEPT),
  /** The attempt is committed, nothing is sent. */
  AFTER_CLAIM(1, ChargeFaults.Point.AFTER_CLAIM),
  /** The provider has taken the money and has not answered: its own ledger says when that is. */
  AFTER_CHARGE(1, null),
  /** The answer is there, nothing is written. */
  AFTER_ANSWER(1, ChargeFaults.Point.AFTER_ANSWER),
  /** The outcome is committed. */
  AFTER_WRITE(1, ChargeFaults.Point.AFTER_WRITE);

  private final int share;
  private final ChargeFaults.@Nullable Point point;

  WorkerKillKind(int share, ChargeFaults.@Nullable Point point) {
    this.share = share;
    this.point = point;
  }

  /** The place where the process itself dies; null: it is killed from outside. */
  ChargeFaults.@Nullable Point point() {
    return point;
  }

  /** Mixed anew in each round of eight, so that a short run has each kind too. */
  static List<WorkerKillKind> plan(int kills, RandomGenerator random) {
    return KillPlan.of(kills, List.of(values()), kind -> kind.share, random);
  }
}
