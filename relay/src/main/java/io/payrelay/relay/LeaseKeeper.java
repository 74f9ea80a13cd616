package io.payrelay.relay;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Holds a slot's lease for a command that is no relay, so that relays stand by while it works.
 * After {@link #start} the lease belongs to the keeper's own thread; the rest is safe for any.
 */
final class LeaseKeeper implements AutoCloseable {

  private static final long END_LIMIT_MS = 5000;

  private final SlotLease lease;
  private final Duration renewEvery;
  private final Runnable eachRound;
  private final AtomicReference<@Nullable RuntimeException> lost = new AtomicReference<>();
  private final ScheduledExecutorService executor =
      Executors.newSingleThreadScheduledExecutor(
          task -> {
            Thread thread = new Thread(task, "payrelay-lease-keeper");
            thread.setDaemon(true);
            return thread;
          });

  /**
   * Not started yet.
   *
   * @param eachRound on the keeper's thread, with the lease's connection at its disposal
   */
  LeaseKeeper(SlotLease lease, Duration renewEvery, Runnable eachRound) {
    this.lease = lease;
    this.renewEvery = renewEvery;
    this.eachRound = eachRound;
  }

  void start() {
    var unused =
        executor.scheduleWithFixedDelay(
            this::round, renewEvery.toMillis(), renewEvery.toMillis(), TimeUnit.MILLISECONDS);
  }

  /**
   * Throws where the lease is lost.
   *
   * @throws PayrelayException RETRIABLE
   */
  void check() {
    RuntimeException failure = lost.get();
    if (failure != null) {
      throw new PayrelayException(
          Category.RETRIABLE,
          "The slot's lease was lost (%s): run the command again, it goes on where this run ended"
              .formatted(failure.getMessage()),
          failure);
    }
  }

  private void round() {
    if (lost.get() != null) {
      return;
    }
    try {
      if (!lease.renew()) {
        throw new PayrelayException(Category.RETRIABLE, "a relay has taken it");
      }
      eachRound.run();
    } catch (RuntimeException e) {
      lost.compareAndSet(null, e);
    }
  }

  /** Gives the lease back. */
  @Override
  public void close() {
    executor.shutdown();
    try {
      if (executor.awaitTermination(END_LIMIT_MS, TimeUnit.MILLISECONDS)) {
        lease.release();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
