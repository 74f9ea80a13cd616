package io.payrelay.relay;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/** Fails, or freezes the relay like SIGSTOP, at the n-th pass of a point. */
final class FaultPlan implements RelayFaults {

  private final Point point;
  private final AtomicInteger passesLeft;
  private final boolean freeze;
  private final CountDownLatch reached = new CountDownLatch(1);
  private final CountDownLatch woken = new CountDownLatch(1);

  private FaultPlan(Point point, int pass, boolean freeze) {
    this.point = point;
    this.passesLeft = new AtomicInteger(pass);
    this.freeze = freeze;
  }

  static FaultPlan failAt(Point point, int pass) {
    return new FaultPlan(point, pass, false);
  }

  static FaultPlan freezeAt(Point point, int pass) {
    return new FaultPlan(point, pass, true);
  }

  /** Does something at the n-th pass of a point, once, on the relay's own thread. */
  static RelayFaults doAt(Point point, int pass, Runnable action) {
    AtomicInteger passesLeft = new AtomicInteger(pass);
    return at -> {
      if (at == point && passesLeft.decrementAndGet() == 0) {
        action.run();
      }
    };
  }

  boolean wasReached() {
    return reached.getCount() == 0;
  }

  void wake() {
    woken.countDown();
  }

  @Override
  public void reached(Point at) {
    if (freeze && wasReached()) {
      sleep();
    } else if (at == point && passesLeft.decrementAndGet() == 0) {
      reached.countDown();
      if (!freeze) {
        throw new IllegalStateException("simulated crash at " + at);
      }
      sleep();
    }
  }

  private void sleep() {
    try {
      woken.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
