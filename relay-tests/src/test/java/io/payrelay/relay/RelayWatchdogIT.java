package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.payrelay.relay.RelayFaults.Point;
import java.net.URI;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** The engine fails without a word; each time the relay has to notice by itself. */
@Timeout(300)
class RelayWatchdogIT {

  private static final Duration LIMIT = Duration.ofMinutes(2);

  /** docs/relay.md: 15 s, or ten heartbeats, transaction timeout and 10 s; and a machine's load. */
  private static final Duration NOTICED = Duration.ofSeconds(45);

  private static final int FAILURES = 20;

  private static final Map<String, String> SETTINGS =
      Map.of("PAYRELAY_RELAY_TRANSACTION_TIMEOUT_MS", "5000");

  @Test
  void connectionThatSwallowsEachByteIsGivenUp() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared(SETTINGS).prepared();
        OutboxOracle oracle = fixture.oracle();
        HalfOpenProxy proxy = new HalfOpenProxy(uri(fixture).getPort());
        RelayLog log = new RelayLog()) {
      Relay relay = fixture.start(RelayFaults.NONE, through(fixture, proxy));
      RelayFixture.awaitState(relay, RelayState.ACTIVE);

      assertThat(proxy.swallowReplication()).isPositive();
      fixture.insertCommitted(20, 3);

      awaitWarning(log, "stream has brought nothing, not even a heartbeat's message, for 15 s");
      assertCleanAndRunning(oracle, relay);
    }
  }

  @Test
  void engineWhoseThreadsEndOrHangIsReplaced() throws Exception {
    CountDownLatch never = new CountDownLatch(1);
    try (RelayFixture fixture = RelayFixture.shared(SETTINGS).prepared();
        OutboxOracle oracle = fixture.oracle();
        RelayLog log = new RelayLog()) {
      Relay relay = fixture.start(FaultPlan.doAt(Point.AFTER_SENDS, 1, () -> hang(never)));
      RelayFixture.awaitState(relay, RelayState.ACTIVE);
      fixture.insertCommitted(20, 3);
      awaitWarning(log, "The engine has delivered nothing for 18 s");
      assertCleanAndRunning(oracle, relay);

      interruptStreaming();
      fixture.insertCommitted(20, 3);

      await()
          .atMost(NOTICED)
          .until(() -> fixture.meters.get("payrelay.relay.recoveries").counter().count() >= 2);
      assertCleanAndRunning(oracle, relay);
    }
  }

  @Test
  void twentyFailuresLeaveNoThreadBehind() throws Exception {
    AtomicInteger failuresLeft = new AtomicInteger(FAILURES);
    try (RelayFixture fixture = RelayFixture.shared(SETTINGS).prepared();
        OutboxOracle oracle = fixture.oracle()) {
      Relay relay =
          fixture.start(
              at -> {
                if (at == Point.AFTER_SENDS && failuresLeft.getAndDecrement() > 0) {
                  throw new IllegalStateException("one of many");
                }
              });
      RelayFixture.awaitState(relay, RelayState.ACTIVE);
      int threads = Thread.getAllStackTraces().size();

      fixture.insertCommitted(20, 3);

      assertCleanAndRunning(oracle, relay);
      assertThat(fixture.meters.get("payrelay.relay.recoveries").counter().count())
          .isGreaterThanOrEqualTo(FAILURES);
      await().atMost(LIMIT).until(() -> Thread.getAllStackTraces().size() < threads + FAILURES / 2);
    }
  }

  private static void hang(CountDownLatch never) {
    try {
      never.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Debezium's own thread, which reads the stream, ends; the engine does not learn of it. */
  private static void interruptStreaming() {
    Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().contains("change-event-source-coordinator"))
        .forEach(Thread::interrupt);
  }

  private static void awaitWarning(RelayLog log, String text) {
    await()
        .atMost(NOTICED)
        .until(() -> log.warnings().stream().anyMatch(line -> line.contains(text)));
  }

  private static void assertCleanAndRunning(OutboxOracle oracle, Relay relay) throws Exception {
    OutboxOracle.Verdict verdict = oracle.await(LIMIT);
    assertThat(verdict.clean()).as("%s", verdict).isTrue();
    assertThat(relay.ended()).isNotDone();
  }

  private static URI uri(RelayFixture fixture) {
    return URI.create(fixture.jdbcUrl.substring("jdbc:".length()));
  }

  private static String through(RelayFixture fixture, HalfOpenProxy proxy) {
    return fixture.jdbcUrl.replace(":" + uri(fixture).getPort() + "/", ":" + proxy.port() + "/");
  }
}
