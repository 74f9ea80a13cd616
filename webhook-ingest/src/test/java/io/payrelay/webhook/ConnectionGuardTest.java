package io.payrelay.webhook;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.eclipse.jetty.io.Connection;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class ConnectionGuardTest {

  @Test
  void goesOnSweepingThoughOneConnectionCannotBeClosed() throws Exception {
    ConnectionGuard guard =
        new ConnectionGuard(
            Duration.ofMillis(20), 100, new IngestMetrics(new SimpleMeterRegistry()));
    AtomicInteger refusing = new AtomicInteger();
    guard.onOpened(
        connection(
            () -> {
              refusing.incrementAndGet();
              throw new IllegalStateException("cannot be closed");
            }));
    guard.start();
    try {
      await().until(() -> refusing.get() >= 2);
      AtomicInteger closed = new AtomicInteger();
      for (int i = 0; i < 10; i++) {
        guard.onOpened(connection(closed::incrementAndGet));
      }

      await().until(() -> closed.get() >= 10);
    } finally {
      guard.stop();
    }
  }

  @Test
  void makesRoomThoughTheOldestCannotBeClosedAndCountsWhatItCloses() {
    SimpleMeterRegistry registry = new SimpleMeterRegistry();
    ConnectionGuard guard =
        new ConnectionGuard(Duration.ofMinutes(1), 1, new IngestMetrics(registry));
    guard.onOpened(
        connection(
            () -> {
              throw new IllegalStateException("cannot be closed");
            }));

    guard.onOpened(connection(() -> {}));

    assertThat(
            registry
                .counter(
                    "payrelay.webhook.refused",
                    "provider",
                    "unknown",
                    "reason",
                    "too many connections")
                .count())
        .isEqualTo(1);
  }

  /** Those that come meanwhile leave it to whoever makes room already. */
  @Test
  void makesRoomForThoseThatCameWhileItMadeRoom() {
    ConnectionGuard guard =
        new ConnectionGuard(
            Duration.ofMinutes(1), 20, new IngestMetrics(new SimpleMeterRegistry()));
    AtomicInteger open = new AtomicInteger();
    AtomicBoolean first = new AtomicBoolean(true);
    for (int i = 0; i < 21; i++) {
      open.incrementAndGet();
      guard.onOpened(
          connection(
              () -> {
                open.decrementAndGet();
                if (first.getAndSet(false)) {
                  CompletableFuture.runAsync(
                          () -> {
                            for (int more = 0; more < 30; more++) {
                              open.incrementAndGet();
                              guard.onOpened(connection(open::decrementAndGet));
                            }
                          })
                      .join();
                }
              }));
    }

    assertThat(open.get()).isBetween(1, 20);
  }

  private static Connection connection(Runnable close) {
    return (Connection)
        Proxy.newProxyInstance(
            Connection.class.getClassLoader(),
            new Class<?>[] {Connection.class},
            (self, method, arguments) ->
                switch (method.getName()) {
                  case "close" -> {
                    close.run();
                    yield null;
                  }
                  case "getBytesIn" -> 1L;
                  case "hashCode" -> System.identityHashCode(self);
                  case "equals" -> self == arguments[0];
                  default -> throw new UnsupportedOperationException(method.getName());
                });
  }
}
