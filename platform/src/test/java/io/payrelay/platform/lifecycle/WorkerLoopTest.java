package io.payrelay.platform.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.time.Duration;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class WorkerLoopTest {

  private static final Duration LONG = Duration.ofHours(1);
  private static final Duration LIMIT = Duration.ofSeconds(5);
  private static final Backoff SHORT =
      new Backoff(Duration.ofMillis(1), Duration.ofMillis(2), new Random(1));

  private final AtomicInteger steps = new AtomicInteger();

  private WorkerLoop start(Worker worker, Duration idle, Duration stopLimit) {
    return WorkerLoop.start("test", worker, idle, SHORT, stopLimit);
  }

  @Test
  void stepsAtOnceWhileThereIsWorkThenWaits() {
    try (WorkerLoop loop = start(() -> steps.incrementAndGet() < 5 ? 1 : 0, LONG, LIMIT)) {
      await().until(() -> steps.get() == 5);
      assertThat(loop.ended()).isNotDone();
    }
    assertThat(steps).hasValue(5);
  }

  @Test
  void wakesFromAnIdleWait() {
    AtomicInteger work = new AtomicInteger();
    try (WorkerLoop loop =
        start(
            () -> {
              steps.incrementAndGet();
              return work.getAndSet(0);
            },
            LONG,
            LIMIT)) {
      await().until(() -> steps.get() == 1);
      loop.wake();
      await().until(() -> steps.get() == 2);
    }
  }

  @Test
  void doesNotLoseAWakeUpThatComesDuringAStep() throws InterruptedException {
    CountDownLatch inStep = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    try (WorkerLoop loop =
        start(
            () -> {
              if (steps.incrementAndGet() == 1) {
                inStep.countDown();
                awaitUninterruptibly(go);
              }
              return 0;
            },
            LONG,
            LIMIT)) {
      inStep.await();
      loop.wake();
      go.countDown();
      await().until(() -> steps.get() == 2);
    }
  }

  @Test
  void triesAgainAfterFailuresThatHeal() {
    try (WorkerLoop loop =
        start(
            () -> {
              if (steps.incrementAndGet() < 4) {
                throw new PayrelayException(Category.RETRIABLE, "not now");
              }
              return 0;
            },
            LONG,
            LIMIT)) {
      await().until(() -> steps.get() == 4);
      assertThat(loop.ended()).isNotDone();
      await().until(() -> loop.consecutiveFailures() == 0);
    }
  }

  @Test
  void countsFailuresInARow() {
    try (WorkerLoop loop =
        start(
            () -> {
              throw new PayrelayException(Category.RETRIABLE, "not now");
            },
            LONG,
            LIMIT)) {
      await().until(() -> loop.consecutiveFailures() >= 3);
    }
  }

  @Test
  void isNotWokenOutOfABackoff() {
    Backoff slow = new Backoff(LONG, LONG, new Random(7));
    try (WorkerLoop loop =
        WorkerLoop.start(
            "test",
            () -> {
              steps.incrementAndGet();
              throw new PayrelayException(Category.RETRIABLE, "not now");
            },
            Duration.ZERO,
            slow,
            LIMIT)) {
      await().until(() -> steps.get() == 1);
      await()
          .during(Duration.ofMillis(100))
          .until(
              () -> {
                loop.wake();
                return steps.get() == 1;
              });
    }
  }

  @Test
  void endsOnAFatalFailureAndSaysWhich() {
    PayrelayException fatal = new PayrelayException(Category.FATAL, "slot is gone");
    try (WorkerLoop loop =
        start(
            () -> {
              steps.incrementAndGet();
              throw fatal;
            },
            Duration.ZERO,
            LIMIT)) {
      assertThatThrownBy(() -> loop.ended().get(10, TimeUnit.SECONDS))
          .isInstanceOf(ExecutionException.class)
          .hasCause(fatal);
    }
    assertThat(steps).hasValue(1);
  }

  @Test
  void closesAfterTheRunningStep() throws Exception {
    CountDownLatch inStep = new CountDownLatch(1);
    CountDownLatch go = new CountDownLatch(1);
    WorkerLoop loop =
        start(
            () -> {
              inStep.countDown();
              awaitUninterruptibly(go);
              return steps.incrementAndGet();
            },
            Duration.ZERO,
            LIMIT);
    inStep.await();
    Thread closer = new Thread(loop::close);
    closer.start();
    await().until(() -> closer.getState() == Thread.State.TIMED_WAITING);
    go.countDown();
    closer.join();

    assertThat(steps).hasValue(1);
    assertThat(loop.ended()).isCompleted();
  }

  @Test
  void interruptsAStepThatOutlastsTheStopLimit() throws Exception {
    for (Duration limit : new Duration[] {Duration.ZERO, Duration.ofMillis(50)}) {
      CountDownLatch inStep = new CountDownLatch(1);
      CountDownLatch never = new CountDownLatch(1);
      WorkerLoop loop =
          start(
              () -> {
                inStep.countDown();
                try {
                  never.await();
                } catch (InterruptedException e) {
                  Thread.currentThread().interrupt();
                }
                return 0;
              },
              LONG,
              limit);
      inStep.await();

      loop.close();

      assertThat(loop.ended()).succeedsWithin(Duration.ofSeconds(10));
    }
  }

  private static void awaitUninterruptibly(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
