package io.payrelay.workbench;

import io.payrelay.relay.RelayFaults;
import org.jspecify.annotations.Nullable;

/** Lets the process die at the n-th pass of a point, once it is told to. Safe for any thread. */
final class DeathOrder implements RelayFaults {

  private final Runnable death;
  private @Nullable Point point;
  private int passesLeft;

  DeathOrder(Runnable death) {
    this.death = death;
  }

  /** Replaces what was ordered before. */
  synchronized void dieAt(Point ordered, int pass) {
    point = ordered;
    passesLeft = pass;
  }

  @Override
  public synchronized void reached(Point at) {
    if (at == point && --passesLeft == 0) {
      death.run();
    }
  }
}
