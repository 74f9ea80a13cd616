package io.payrelay.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.localstack.LocalStack;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Two real relay processes: killed, frozen, woken. */
final class TakeoverSystemTest {

  private static final Duration LIMIT = Duration.ofSeconds(90);
  private static final Duration TAKEOVER = Duration.ofSeconds(5);
  private static final Duration LEASE = Duration.ofSeconds(3);

  /** What a relay process needs to be ready on a machine that has nothing else to do. */
  private static final Duration START = Duration.ofSeconds(5);

  /** However slow the machine: a takeover that takes longer than this is a fault of ours. */
  private static final double SLOWNESS_MAX = 4;

  @TempDir Path folder;

  @Test
  @Timeout(400)
  void theStandbyTakesOverFromAKilledAndFromAFrozenRelayAndTheWokenOneStandsBy() throws Exception {
    try (LocalStack infra = LocalStack.builder().start();
        OutboxStream outbox = OutboxStream.prepare(infra)) {
      long startNs = System.nanoTime();
      try (Child one = Child.start(folder, outbox.relay("one"), "relay");
          Child two = Child.start(folder, outbox.relay("two"), "relay")) {
        one.awaitReady();
        two.awaitReady();
        double slowness = slowness(Duration.ofNanos(System.nanoTime() - startNs));
        outbox.trickleUntil(LIMIT, () -> outbox.events() > 0);
        Child active = outbox.activeRelay().equals("one") ? one : two;
        Child standby = active == one ? two : one;

        Duration afterKill = killed(outbox, active);
        tell("kill -9", afterKill, slowness);
        active.restart();
        active.awaitReady(2);
        assertThat(afterKill).isLessThan(allowed(TAKEOVER, slowness));

        // Now the roles are changed.
        Duration afterFreeze = frozen(outbox, standby);
        tell("SIGSTOP", afterFreeze, slowness);
        assertThat(afterFreeze).isLessThan(allowed(LEASE.plus(TAKEOVER.multipliedBy(2)), slowness));
        long standingBy = standingBy(standby);
        standby.signal("CONT");
        outbox.trickleUntil(LIMIT, () -> standingBy(standby) > standingBy);
        assertThat(active.errors())
            .as("whom the woken one disturbed")
            .doesNotContain("relay starts anew");

        // The woken one is a standby like any other.
        killed(outbox, active);
        outbox.assertEachRowCameOnceInOrder(LIMIT);
      }
    }
  }

  /** Time from the kill to the first record that a consumer sees of the other one. */
  private static Duration killed(OutboxStream outbox, Child active) throws Exception {
    long killedNs = System.nanoTime();
    active.kill();
    long deadMs = System.currentTimeMillis();
    outbox.trickleUntil(LIMIT, () -> outbox.newestMs() > deadMs);
    return Duration.ofNanos(System.nanoTime() - killedNs);
  }

  private static Duration frozen(OutboxStream outbox, Child active) throws Exception {
    long frozenNs = System.nanoTime();
    active.signal("STOP");
    long frozenMs = System.currentTimeMillis();
    outbox.trickleUntil(LIMIT, () -> outbox.newestMs() > frozenMs);
    return Duration.ofNanos(System.nanoTime() - frozenNs);
  }

  /** Before it is judged, so that a failure has its figure too. */
  private static void tell(String what, Duration takeover, double slowness) {
    System.out.printf(
        "takeover after %s: %d ms (the machine is taken for %.1f times slower than idle)%n",
        what, takeover.toMillis(), slowness);
  }

  private static long standingBy(Child relay) {
    return relay.errors().lines().filter(line -> line.contains("standing by")).count();
  }

  /** Five seconds are promised to a machine that has time: others may be working on this one. */
  private static double slowness(Duration start) {
    return Math.min(SLOWNESS_MAX, Math.max(1.0, (double) start.toMillis() / START.toMillis()));
  }

  private static Duration allowed(Duration onIdleMachine, double slowness) {
    return Duration.ofMillis((long) (onIdleMachine.toMillis() * slowness));
  }
}
