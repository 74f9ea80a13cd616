package io.payrelay.platform.telemetry;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

/**
 * A check that asks a server, and so may hang. It runs at most once at a time, however often it is
 * asked for: probes never pile up behind a server that does not answer. Safe for any thread.
 */
final class SlowCheck {

  private final Supplier<String> check;
  private final Executor executor;
  private CompletableFuture<String> running = CompletableFuture.completedFuture("");

  SlowCheck(Supplier<String> check, Executor executor) {
    this.check = check;
    this.executor = executor;
  }

  /** Starts it, unless it runs. */
  synchronized void begin() {
    if (running.isDone()) {
      running = CompletableFuture.supplyAsync(() -> said(check), executor);
    }
  }

  /** What it says, or that it said nothing in time. */
  String answer(long deadlineNs) {
    try {
      return current().get(Math.max(0, deadlineNs - System.nanoTime()), TimeUnit.NANOSECONDS);
    } catch (TimeoutException e) {
      return "does not answer";
    } catch (ExecutionException e) {
      return failed(e.getCause() == null ? e : e.getCause());
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      return "was interrupted";
    }
  }

  /** The answer of a check; its own failure is one. */
  static String said(Supplier<String> check) {
    try {
      return check.get();
    } catch (RuntimeException e) {
      return failed(e);
    }
  }

  private synchronized CompletableFuture<String> current() {
    return running;
  }

  /** The message may hold private data; the class says enough for a probe. */
  private static String failed(Throwable failure) {
    return "the check failed with " + failure.getClass().getSimpleName();
  }
}
