package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.sql.SQLException;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two relays of one slot in one process; killed and frozen processes: the system tests. */
@Timeout(180)
class RelayTakeoverIT {

  private static final Duration LIMIT = Duration.ofSeconds(60);

  @Test
  void standbyHasNeitherProducerNorWalsenderOnlyTheSessionThatAsksForTheLease() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared().prepared();
        OutboxOracle oracle = fixture.oracle()) {
      fixture.startActive();
      await().atMost(LIMIT).until(() -> fixture.slotPid() != null);
      String walsender = fixture.slotPid();
      Relay standby = fixture.start();
      await().atMost(LIMIT).until(() -> leaseSessions(fixture) == 2);

      await()
          .during(Duration.ofSeconds(3))
          .atMost(LIMIT)
          .until(
              () ->
                  producers(fixture) == 1
                      && walsenders(fixture) == 1
                      && leaseSessions(fixture) == 2);

      assertThat(standby.state()).isEqualTo(RelayState.STANDBY);
      assertThat(fixture.slotPid()).isEqualTo(walsender);
      fixture.insertCommitted(20, 2);
      OutboxOracle.Verdict verdict = oracle.await(LIMIT);
      assertThat(verdict.rows()).isEqualTo(40);
      assertThat(verdict.clean()).as("%s", verdict).isTrue();
    }
  }

  @Test
  void relaysStartedTogetherSettleOnOneAndStaySo() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared().prepared();
        OutboxOracle oracle = fixture.oracle()) {
      Relay one = fixture.start();
      Relay other = fixture.start();
      await().atMost(LIMIT).until(() -> RelayFixture.oneIsActiveAndOneStandsBy(one, other));

      // Three times the lease. On a machine that stands still longer than a lease the owner may
      // change once; what must not be is that they change for ever.
      await()
          .during(fixture.config.lease().multipliedBy(3))
          .atMost(LIMIT)
          .until(() -> RelayFixture.oneIsActiveAndOneStandsBy(one, other));

      assertThat(fixture.meters.get("payrelay.relay.recoveries").counter().count())
          .isLessThanOrEqualTo(2);
      fixture.insertCommitted(20, 2);
      OutboxOracle.Verdict verdict = oracle.await(LIMIT);
      assertThat(verdict.rows()).isEqualTo(40);
      assertThat(verdict.clean()).as("%s", verdict).isTrue();
    }
  }

  private static long producers(RelayFixture fixture) {
    String name = "kafka-producer-network-thread | " + fixture.config.transactionalId();
    return Thread.getAllStackTraces().keySet().stream()
        .filter(thread -> thread.getName().equals(name))
        .count();
  }

  private static int walsenders(RelayFixture fixture) throws SQLException {
    return Integer.parseInt(
        fixture.query(
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'walsender' AND usename = '%s'"
                .formatted(fixture.relayUser)));
  }

  private static int leaseSessions(RelayFixture fixture) throws SQLException {
    return Integer.parseInt(
        fixture.query(
            "SELECT count(*) FROM pg_stat_activity WHERE usename = '%s' AND application_name = 'payrelay-relay-lease'"
                .formatted(fixture.relayUser)));
  }
}
