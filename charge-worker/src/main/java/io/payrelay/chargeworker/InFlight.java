package io.payrelay.chargeworker;

import java.time.Duration;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/** Counts calls from their claim until their outcome is written. Safe for any thread. */
final class InFlight {

  private final int max;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition empty = lock.newCondition();
  private int count;

  InFlight(int max) {
    this.max = max;
  }

  int room() {
    return max - count();
  }

  int max() {
    return max;
  }

  int count() {
    lock.lock();
    try {
      return count;
    } finally {
      lock.unlock();
    }
  }

  void add(int calls) {
    lock.lock();
    try {
      count += calls;
      if (count == 0) {
        empty.signalAll();
      }
    } finally {
      lock.unlock();
    }
  }

  /** Waits until there is none, or until the limit; an interruption ends the wait. */
  boolean awaitEmpty(Duration limit) {
    lock.lock();
    try {
      long leftNs = limit.toNanos();
      while (count > 0 && leftNs > 0) {
        leftNs = empty.awaitNanos(leftNs);
      }
      return count == 0;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } finally {
      lock.unlock();
    }
  }
}
