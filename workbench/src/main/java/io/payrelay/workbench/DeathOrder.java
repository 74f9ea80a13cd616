package io.payrelay.workbench;

import org.jspecify.annotations.Nullable;

/** Lets the process die at the n-th pass of a point, once it is told to. Safe for any thread. */
final class DeathOrder {

  private final Runnable death;
  private @Nullable String point;
  private int passesLeft;

  DeathOrder(Runnable death) {
    this.death = death;
  }

  /** Names the point, and at which pass of it to die. Replaces what was ordered before. */
  synchronized void dieAt(String ordered, int pass) {
    point = ordered;
    passesLeft = pass;
  }

  /** The process is at that place now. */
  synchronized void reached(Enum<?> at) {
    if (at.name().equals(point) && --passesLeft == 0) {
      death.run();
    }
  }
}
