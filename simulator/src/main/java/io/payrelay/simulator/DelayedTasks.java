package io.payrelay.simulator;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The simulator's one scheduler: whatever waits, waits here and holds no thread. Thread-safe. */
final class DelayedTasks implements AutoCloseable {
  private static final Logger log = LoggerFactory.getLogger(DelayedTasks.class);
  private static final int THREADS = 4;

  private final ScheduledThreadPoolExecutor executor;

  DelayedTasks() {
    AtomicInteger number = new AtomicInteger();
    executor =
        new ScheduledThreadPoolExecutor(
            THREADS,
            task -> {
              Thread thread = new Thread(task, "simulator-delay-" + number.incrementAndGet());
              thread.setDaemon(true);
              return thread;
            });
    executor.setRemoveOnCancelPolicy(true);
    // What would come after the end of the simulator is not missed by anyone.
    executor.setRejectedExecutionHandler(new ThreadPoolExecutor.DiscardPolicy());
  }

  void after(Duration delay, Runnable task) {
    var unused = executor.schedule(() -> runLogged(task), delay.toNanos(), TimeUnit.NANOSECONDS);
  }

  void each(Duration period, Runnable task) {
    var unused =
        executor.scheduleWithFixedDelay(
            () -> runLogged(task), period.toNanos(), period.toNanos(), TimeUnit.NANOSECONDS);
  }

  CompletableFuture<Void> delay(Duration delay) {
    CompletableFuture<Void> done = new CompletableFuture<>();
    after(delay, () -> done.complete(null));
    return done;
  }

  @Override
  public void close() {
    executor.shutdownNow();
  }

  private static void runLogged(Runnable task) {
    try {
      task.run();
    } catch (RuntimeException e) {
      log.error("a delayed task of the simulator failed", e);
    }
  }
}
