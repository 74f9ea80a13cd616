package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.payrelay.localstack.LocalKafka;
import io.payrelay.localstack.LocalPostgres;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** Servers of its own: they are stopped and killed. */
@Timeout(300)
class RelayOutageIT {

  private static final Duration LIMIT = Duration.ofSeconds(60);

  @Test
  void postgresThatDiesInTheMiddleOfALargeTransactionCostsNothing() throws Exception {
    try (LocalPostgres postgres = LocalPostgres.builder().start();
        LocalKafka kafka = LocalKafka.builder().start();
        RelayFixture fixture = prepared(postgres, kafka);
        OutboxOracle oracle = fixture.oracle()) {
      Relay relay = fixture.startActive();
      fixture.insertCommitted(20, 3);

      dieInTheMiddle(postgres, fixture);

      assertClean(oracle, relay, 60_120);
    }
  }

  /**
   * In the long form only: after its orderly restart the embedded single broker sometimes leaves a
   * transaction of its own hanging on the position topic, and the relay then rightly waits. It says
   * so with the producer's id and the offset.
   */
  @Test
  @EnabledIfSystemProperty(named = "payrelay.long", matches = "true")
  void kafkaAndPostgresThatGoAwayCostNothing() throws Exception {
    try (LocalPostgres postgres = LocalPostgres.builder().start();
        LocalKafka kafka = LocalKafka.builder().start();
        RelayFixture fixture = prepared(postgres, kafka);
        OutboxOracle oracle = fixture.oracle()) {
      Relay relay = fixture.startActive();
      fixture.insertCommitted(20, 3);

      kafka.stop();
      fixture.insertCommitted(20, 3);
      // The state itself is RECOVERING only for the moment of the backoff.
      await()
          .atMost(LIMIT)
          .until(() -> fixture.meters.get("payrelay.relay.recoveries").counter().count() >= 1);
      kafka.start();
      dieInTheMiddle(postgres, fixture);

      assertClean(oracle, relay, 60_180);
    }
  }

  private static RelayFixture prepared(LocalPostgres postgres, LocalKafka kafka) throws Exception {
    return new RelayFixture(
            postgres.jdbcUrl(),
            postgres.user(),
            kafka.bootstrapServers(),
            Map.of("PAYRELAY_RELAY_TRANSACTION_TIMEOUT_MS", "5000"))
        .prepared();
  }

  private static void dieInTheMiddle(LocalPostgres postgres, RelayFixture fixture)
      throws Exception {
    fixture.insertCommitted(1, 60_000);
    await()
        .atMost(LIMIT)
        .pollInterval(Duration.ofMillis(5))
        .until(() -> fixture.rowsRelayed() >= 20_000);
    postgres.kill();
    postgres.start();
    fixture.insertCommitted(20, 3);
  }

  private static void assertClean(OutboxOracle oracle, Relay relay, long rows) throws Exception {
    OutboxOracle.Verdict verdict = oracle.await(LIMIT);
    assertThat(verdict.rows()).isEqualTo(rows);
    assertThat(verdict.clean()).as("%s", verdict).isTrue();
    assertThat(relay.ended()).isNotDone();
  }
}
