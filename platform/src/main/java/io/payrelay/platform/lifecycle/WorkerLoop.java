package io.payrelay.platform.lifecycle;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.Failures;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs a {@link Worker} on a thread of its own until closed: at once again while there is work,
 * after the idle delay or a wake-up otherwise, after a backoff where a failure heals by itself,
 * never again after a fatal one. Safe for any thread.
 */
public final class WorkerLoop implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(WorkerLoop.class);

  private final String name;
  private final Worker worker;
  private final Duration idle;
  private final Backoff backoff;
  private final Duration stopLimit;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private final CompletableFuture<Void> ended = new CompletableFuture<>();
  private final Thread thread;
  private boolean stopping;
  private boolean woken;
  private volatile int consecutiveFailures;

  private WorkerLoop(
      String name, Worker worker, Duration idle, Backoff backoff, Duration stopLimit) {
    this.name = name;
    this.worker = worker;
    this.idle = idle;
    this.backoff = backoff;
    this.stopLimit = stopLimit;
    this.thread = new Thread(this::run, name);
  }

  /** Starts the loop. */
  public static WorkerLoop start(
      String name, Worker worker, Duration idle, Backoff backoff, Duration stopLimit) {
    WorkerLoop loop = new WorkerLoop(name, worker, idle, backoff, stopLimit);
    loop.thread.start();
    return loop;
  }

  /** Ends an idle wait early: there may be work. */
  public void wake() {
    lock.lock();
    try {
      woken = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Completes when the loop has ended; exceptionally where the failure was fatal. */
  public CompletableFuture<Void> ended() {
    return ended;
  }

  /** How many steps have failed since the last one that did not. */
  public int consecutiveFailures() {
    return consecutiveFailures;
  }

  /** Lets the running step finish, for as long as the stop limit; then interrupts it. */
  @Override
  public void close() {
    lock.lock();
    try {
      stopping = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    try {
      // To join for 0 ms would be to join for ever.
      long limitMs = Math.max(stopLimit.toMillis(), 1);
      thread.join(limitMs);
      if (thread.isAlive()) {
        log.warn("loop={} does not stop within {}: interrupting it", name, stopLimit);
        thread.interrupt();
        thread.join(limitMs);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void run() {
    int failures = 0;
    String said = "";
    while (!isStopping()) {
      Duration pause;
      boolean wakeable = true;
      try {
        int done = worker.runOnce();
        if (failures > 0) {
          log.info("loop={} works again after {} failures", name, failures);
        }
        failures = 0;
        consecutiveFailures = 0;
        said = "";
        pause = done > 0 ? Duration.ZERO : idle;
      } catch (RuntimeException e) {
        if (isStopping()) {
          log.info("loop={} was stopped within a step", name, e);
          break;
        }
        if (Failures.categoryOf(e) == Category.FATAL) {
          log.error("loop={} stops", name, e);
          ended.completeExceptionally(e);
          return;
        }
        pause = backoff.delay(failures);
        // New work does not heal what failed: each wake-up would be another try without a pause.
        wakeable = false;
        failures++;
        consecutiveFailures = failures;
        // Said once with its cause; while it lasts, the repeats are not worth a line each.
        String kind = e.getClass().getName() + " " + Failures.sqlState(e);
        if (!kind.equals(said)) {
          log.warn("loop={} failed and tries again failures={}", name, failures, e);
          said = kind;
        }
      } catch (Error e) {
        // An Error leaves unknown state behind: end the process rather than this thread in silence.
        log.error("loop={} stops", name, e);
        ended.completeExceptionally(e);
        throw e;
      }
      if (!pause(pause, wakeable)) {
        break;
      }
    }
    ended.complete(null);
  }

  private boolean isStopping() {
    lock.lock();
    try {
      return stopping;
    } finally {
      lock.unlock();
    }
  }

  /** Returns false where the wait was interrupted. */
  private boolean pause(Duration duration, boolean wakeable) {
    lock.lock();
    try {
      long leftNs = duration.toNanos();
      while (leftNs > 0 && !(wakeable && woken) && !stopping) {
        leftNs = changed.awaitNanos(leftNs);
      }
      woken = false;
      return true;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return false;
    } finally {
      lock.unlock();
    }
  }
}
