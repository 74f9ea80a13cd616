package io.payrelay.simulator;

import io.javalin.http.Context;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/** Answers calls, at once or later, without holding a thread. Thread-safe. */
final class Replies {
  private static final String JSON = "application/json";
  private static final CompletableFuture<Void> DONE = CompletableFuture.completedFuture(null);

  private final DelayedTasks tasks;
  private final Duration latency;

  Replies(DelayedTasks tasks, Duration latency) {
    this.tasks = tasks;
    this.latency = latency;
  }

  static CompletableFuture<Void> done() {
    return DONE;
  }

  static void send(Context ctx, Response answer) {
    send(ctx, answer.status(), answer.body());
  }

  static void send(Context ctx, int status, byte[] json) {
    ctx.status(status).contentType(JSON).result(json);
  }

  /** Runs the work after the configured latency; the call is over when the work's result is. */
  void later(Context ctx, Supplier<CompletableFuture<Void>> work) {
    later(ctx, Duration.ZERO, work);
  }

  /** Runs the work after the configured latency and an extra delay. */
  void later(Context ctx, Duration extraDelay, Supplier<CompletableFuture<Void>> work) {
    Duration delay = latency.plus(extraDelay);
    if (!delay.isZero()) {
      ctx.future(() -> tasks.delay(delay).thenCompose(ignored -> work.get()));
      return;
    }
    CompletableFuture<Void> result = work.get();
    if (!result.isDone()) {
      ctx.future(() -> result);
    }
  }
}
