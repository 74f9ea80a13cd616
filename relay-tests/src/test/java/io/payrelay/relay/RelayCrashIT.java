package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(120)
class RelayCrashIT {

  private static final Duration LIMIT = Duration.ofSeconds(60);

  @Test
  void walsenderEndedInTheMiddleOfALargeTransactionCostsNothing() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared().prepared();
        OutboxOracle oracle = fixture.oracle()) {
      fixture.startActive();
      fixture.insertCommitted(1, 60_000);
      for (int published : new int[] {5_000, 30_000}) {
        await()
            .atMost(LIMIT)
            .pollInterval(Duration.ofMillis(5))
            .until(() -> fixture.rowsRelayed() >= published);
        fixture.execute("SELECT pg_terminate_backend(" + fixture.slotPid() + ")");
      }

      OutboxOracle.Verdict verdict = oracle.await(LIMIT);

      assertThat(verdict.rows()).isEqualTo(60_000);
      assertThat(verdict.clean()).as("%s", verdict).isTrue();
      assertThat(fixture.meters.get("payrelay.relay.recoveries").counter().count())
          .isGreaterThanOrEqualTo(1);
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = RelayFaults.Point.class,
      names = {"AFTER_BEGIN", "AFTER_SENDS", "BEFORE_COMMIT", "AFTER_COMMIT"})
  void failureAtAnyPointOfABatchCostsNothing(RelayFaults.Point point) throws Exception {
    try (RelayFixture fixture = RelayFixture.shared().prepared();
        OutboxOracle oracle = fixture.oracle()) {
      fixture.insertCommitted(30, 4);
      fixture.insertCommitted(1, 5_000);
      FaultPlan plan = FaultPlan.failAt(point, 2);
      Relay relay = fixture.start(plan);
      RelayFixture.awaitState(relay, RelayState.ACTIVE);
      fixture.insertCommitted(30, 4);

      OutboxOracle.Verdict verdict = oracle.await(LIMIT);

      assertThat(plan.wasReached()).isTrue();
      assertThat(verdict.rows()).isEqualTo(5_240);
      assertThat(verdict.clean()).as("%s", verdict).isTrue();
    }
  }

  @ParameterizedTest
  @EnumSource(
      value = RelayFaults.Point.class,
      names = {"BEFORE_FENCING", "AFTER_SENDS", "AFTER_COMMIT"})
  void relayThatFreezesAndWakesUpAfterTheTakeoverPublishesNothing(RelayFaults.Point point)
      throws Exception {
    try (RelayFixture fixture = RelayFixture.shared().prepared();
        OutboxOracle oracle = fixture.oracle()) {
      fixture.insertCommitted(1, 5_000);
      FaultPlan plan = FaultPlan.freezeAt(point, point == RelayFaults.Point.BEFORE_FENCING ? 1 : 2);
      Relay frozen = fixture.start(plan);
      await().atMost(LIMIT).until(plan::wasReached);

      long frozenSinceNs = System.nanoTime();
      Relay standby = fixture.startActive();
      Duration takeover = Duration.ofNanos(System.nanoTime() - frozenSinceNs);
      fixture.insertCommitted(20, 3);
      plan.wake();
      fixture.insertCommitted(20, 3);

      OutboxOracle.Verdict verdict = oracle.await(LIMIT);
      assertThat(verdict.rows()).isEqualTo(5_120);
      assertThat(verdict.clean()).as("%s", verdict).isTrue();
      assertThat(takeover).isLessThan(Duration.ofSeconds(20));
      await().atMost(LIMIT).until(() -> RelayFixture.oneIsActiveAndOneStandsBy(frozen, standby));
    }
  }

  @Test
  void standbyTouchesNothingAndTakesOverWhenTheOwnerCloses() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared().prepared();
        OutboxOracle oracle = fixture.oracle()) {
      Relay first = fixture.startActive();
      Relay second = fixture.start();
      fixture.insertCommitted(50, 2);
      RelayFixture.awaitState(second, RelayState.STANDBY);
      oracle.await(LIMIT);
      assertThat(second.state()).isEqualTo(RelayState.STANDBY);
      assertThat(fixture.meters.get("payrelay.relay.recoveries").counter().count()).isZero();

      long closedNs = System.nanoTime();
      first.close();
      RelayFixture.awaitState(second, RelayState.ACTIVE);
      Duration takeover = Duration.ofNanos(System.nanoTime() - closedNs);
      fixture.insertCommitted(50, 2);

      OutboxOracle.Verdict verdict = oracle.await(LIMIT);
      assertThat(verdict.rows()).isEqualTo(200);
      assertThat(verdict.clean()).as("%s", verdict).isTrue();
      assertThat(takeover).isLessThan(Duration.ofSeconds(10));
    }
  }

  @Test
  void ownerWhoseBackendsAreGoneIsReplacedBeforeItsLeaseEnds() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared().prepared()) {
      fixture.execute(
          """
          INSERT INTO payrelay.relay_owner (slot_name, owner, lease_until, backends)
          VALUES ('%s', 'dead', now() + interval '1 hour', '[{"pid": 1, "backend_start": "2020-01-01"}]')
          """
              .formatted(fixture.config.slotName()));

      fixture.startActive();

      assertThat(
              fixture.query(
                  "SELECT jsonb_array_length(backends) FROM payrelay.relay_owner WHERE slot_name = '%s'"
                      .formatted(fixture.config.slotName())))
          .as("lease connection and walsender")
          .isEqualTo("2");
    }
  }

  @Test
  void liveOwnerKeepsItsLease() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared().prepared()) {
      fixture.execute(
          """
          INSERT INTO payrelay.relay_owner (slot_name, owner, lease_until)
          VALUES ('%s', 'other', now() + interval '4 seconds')
          """
              .formatted(fixture.config.slotName()));

      Relay relay = fixture.start();

      await()
          .during(Duration.ofSeconds(2))
          .atMost(Duration.ofSeconds(3))
          .until(() -> relay.state() == RelayState.STANDBY && fixture.slotPid() == null);
      RelayFixture.awaitState(relay, RelayState.ACTIVE);
    }
  }
}
