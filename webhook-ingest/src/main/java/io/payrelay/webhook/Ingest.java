package io.payrelay.webhook;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.Failures;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.lifecycle.Backoff;
import io.payrelay.platform.lifecycle.WorkerLoop;
import io.payrelay.providers.WebhookAdapter;
import io.payrelay.providers.WebhookRequest;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jdbi.v3.core.HandleCallback;
import org.jdbi.v3.core.Jdbi;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes authentic deliveries: raw event, decision and everything that follows in one transaction. A
 * few writers take what waits, up to a bound, and commit it together; what cannot be done together
 * is done alone, aside, so that nobody waits for another's event. A future completes when its event
 * is committed; exceptionally where it is not, or where nobody knows. Safe for any thread.
 */
final class Ingest implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(Ingest.class);

  /** One prepares while the other one's commit is flushed. */
  private static final int WRITERS = 2;

  private static final int TOGETHER_MAX = 128;

  /** So long the first of a batch waits for company: a transaction costs as much as many events. */
  private static final Duration GATHER = Duration.ofMillis(5);

  /** With so many nobody waits for more. */
  private static final int COMPANY = 32;

  private static final long TOGETHER_BYTES_MAX = 4_194_304;

  /** A lost race shows what the winner committed; the second loss is a crowd's. */
  private static final int TOGETHER_TRIES = 2;

  /** Connections that are not for what is done alone: writers, matcher, health. */
  private static final int CONNECTIONS_KEPT = WRITERS + 2;

  private static final Duration IDLE = Duration.ofSeconds(10);
  private static final Duration STEP = Duration.ofMillis(200);

  private final Jdbi jdbi;
  private final InstantSource clock;
  private final IngestFaults faults;
  private final EventWriter writer;
  private final Duration deadline;
  private final BlockingQueue<Waiting> queue;
  private final ThreadPoolExecutor alone;
  private final List<WorkerLoop> writers = new ArrayList<>();
  private volatile boolean closed;

  /** A delivery and whoever waits for it. */
  private record Waiting(Delivery delivery, CompletableFuture<Receipt> receipt) {}

  /**
   * Starts the writers.
   *
   * @param deadline after which a delivery has failed, as far as its sender is concerned
   * @param waitingMax deliveries that wait; more are turned away at once
   * @param connectionsMax of the pool behind the Jdbi
   */
  Ingest(
      Jdbi jdbi,
      InstantSource clock,
      EventWriter writer,
      IngestFaults faults,
      Duration deadline,
      int waitingMax,
      int connectionsMax,
      Backoff backoff) {
    this.jdbi = jdbi;
    this.clock = clock;
    this.writer = writer;
    this.faults = faults;
    this.deadline = deadline;
    this.queue = new ArrayBlockingQueue<>(waitingMax);
    int threads = Math.max(1, connectionsMax - CONNECTIONS_KEPT);
    this.alone =
        new ThreadPoolExecutor(
            threads,
            threads,
            IDLE.toMillis(),
            TimeUnit.MILLISECONDS,
            new ArrayBlockingQueue<>(waitingMax),
            task -> new Thread(task, "webhook-alone"));
    alone.allowCoreThreadTimeOut(true);
    for (int i = 0; i < WRITERS; i++) {
      // A step fails only where the thread is to end: nothing is tried again by the loop.
      writers.add(
          WorkerLoop.start("webhook-writer-" + i, this::step, Duration.ZERO, backoff, deadline));
    }
  }

  /**
   * Takes a verified request.
   *
   * @return fails where nothing was written, or nobody knows: the provider should deliver again
   * @throws RejectedExecutionException where too many wait already
   */
  CompletableFuture<Receipt> receive(WebhookAdapter adapter, WebhookRequest request, String keyId) {
    Waiting waiting =
        new Waiting(
            Delivery.read(adapter, request, keyId, clock.instant()), new CompletableFuture<>());
    if (closed || !queue.offer(waiting)) {
      throw new RejectedExecutionException("too many deliveries wait");
    }
    return waiting.receipt().orTimeout(deadline.toMillis(), TimeUnit.MILLISECONDS);
  }

  /** Completes when a writer has ended. */
  CompletableFuture<Object> ended() {
    return CompletableFuture.anyOf(
        writers.stream().map(WorkerLoop::ended).toArray(CompletableFuture<?>[]::new));
  }

  /** Lets the writers finish what they have; what still waits then fails. */
  @Override
  public void close() {
    closed = true;
    writers.forEach(WorkerLoop::close);
    alone.shutdown();
    try {
      if (!alone.awaitTermination(deadline.toMillis(), TimeUnit.MILLISECONDS)) {
        alone.shutdownNow();
      }
    } catch (InterruptedException e) {
      alone.shutdownNow();
      Thread.currentThread().interrupt();
    }
    List<Waiting> left = new ArrayList<>();
    queue.drainTo(left);
    fail(left, new RejectedExecutionException("stopping"));
  }

  /** One step of a writer: takes what waits, a while for the first, and writes it. */
  private int step() {
    List<Waiting> batch = next();
    try {
      together(batch);
    } catch (RuntimeException e) {
      // A bug: those who wait for this batch must not wait for their deadline.
      log.error("webhook_batch_failed", e);
      fail(batch, e);
    }
    return batch.size();
  }

  private List<Waiting> next() {
    List<Waiting> batch = new ArrayList<>();
    try {
      Waiting next = queue.poll(STEP.toMillis(), TimeUnit.MILLISECONDS);
      if (next != null && queue.size() < COMPANY) {
        // Not woken by each that comes: that would cost what it saves.
        LockSupport.parkNanos(GATHER.toNanos());
      }
      long bytes = 0;
      while (next != null) {
        batch.add(next);
        bytes += next.delivery().row().body().length;
        next = batch.size() < TOGETHER_MAX && bytes < TOGETHER_BYTES_MAX ? queue.poll() : null;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return batch;
  }

  private void together(List<Waiting> batch) {
    List<Waiting> awaited = batch.stream().filter(one -> !one.receipt().isDone()).toList();
    if (awaited.isEmpty()) {
      return;
    }
    List<Delivery> deliveries = awaited.stream().map(Waiting::delivery).toList();
    List<@Nullable Receipt> receipts;
    try {
      Instant now = clock.instant();
      receipts =
          Redo.untilDone(TOGETHER_TRIES, () -> commit(tx -> writer.together(tx, deliveries, now)));
    } catch (RuntimeException e) {
      if (Failures.concernsOne(e) || Waited.of(e) != null) {
        // One of them, and nobody knows which: its own transaction tells.
        awaited.forEach(this::aside);
      } else {
        fail(awaited, e);
      }
      return;
    }
    for (int i = 0; i < awaited.size(); i++) {
      Receipt receipt = receipts.get(i);
      if (receipt == null) {
        aside(awaited.get(i));
      } else {
        done(awaited.get(i), receipt);
      }
    }
  }

  private void aside(Waiting one) {
    try {
      alone.execute(() -> alone(one));
    } catch (RejectedExecutionException e) {
      one.receipt().completeExceptionally(e);
    }
  }

  private void alone(Waiting one) {
    if (one.receipt().isDone()) {
      return;
    }
    try {
      done(one, commitAlone(one));
    } catch (RuntimeException e) {
      one.receipt().completeExceptionally(e);
    }
  }

  private Receipt commitAlone(Waiting one) {
    Instant now = clock.instant();
    try {
      return Redo.untilDone(
          () -> commit(tx -> awaited(one, writer.alone(tx, one.delivery(), now))));
    } catch (RuntimeException e) {
      if (!isItsOwn(e)) {
        throw e;
      }
      // Authentic, and deciding fails for good: keep the evidence alone, for reprocess.
      String reason = Delivery.reason(e);
      return Redo.untilDone(() -> commit(tx -> writer.failed(tx, one.delivery(), reason, now)));
    }
  }

  /** After a long wait for a lock its sender may have been told to deliver again. */
  private static @Nullable Receipt awaited(Waiting one, @Nullable Receipt receipt) {
    if (one.receipt().isDone()) {
      throw new PayrelayException(Category.RETRIABLE, "nobody waits for this delivery any more");
    }
    return receipt;
  }

  /** Deadlocks that do not end are a crowd's; a unique key that stays taken is the event's. */
  static boolean isItsOwn(RuntimeException failure) {
    String state = Failures.sqlState(failure);
    return Failures.concernsOne(failure) && (state == null || !state.startsWith("40"));
  }

  /** Null, and nothing written, where the work returns null. */
  private <T> @Nullable T commit(HandleCallback<@Nullable T, RuntimeException> work) {
    return jdbi.inTransaction(
        tx -> {
          T result = work.withHandle(tx);
          if (result == null) {
            tx.rollback();
          } else {
            faults.beforeCommit();
          }
          return result;
        });
  }

  private void done(Waiting one, Receipt receipt) {
    try {
      faults.afterCommit();
      one.receipt().complete(receipt);
    } catch (RuntimeException e) {
      one.receipt().completeExceptionally(e);
    }
  }

  private static void fail(List<Waiting> waiting, RuntimeException failure) {
    waiting.forEach(one -> one.receipt().completeExceptionally(failure));
  }
}
