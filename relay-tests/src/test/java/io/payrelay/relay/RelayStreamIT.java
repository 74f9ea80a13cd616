package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.StringReader;
import java.sql.Connection;
import java.sql.Savepoint;
import java.time.Duration;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.postgresql.PGConnection;

@Timeout(90)
class RelayStreamIT {

  private static final Duration LIMIT = Duration.ofSeconds(30);

  @Test
  void publishesEachCommittedRowOnceInCommitOrder() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared().prepared();
        OutboxOracle oracle = fixture.oracle()) {
      // Written before the relay runs, and while it runs.
      mixedLoad(fixture, new Random(1));
      fixture.startActive();
      mixedLoad(fixture, new Random(2));

      OutboxOracle.Verdict verdict = oracle.await(LIMIT);

      assertThat(verdict.rows()).isGreaterThan(200);
      assertThat(verdict.clean()).as("%s", verdict).isTrue();
      assertThat(fixture.rowsRelayed()).isEqualTo((double) verdict.rows());
    }
  }

  @Test
  void restartsGoOnWhereKafkaIs() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared().prepared();
        OutboxOracle oracle = fixture.oracle()) {
      for (int i = 0; i < 3; i++) {
        Relay relay = fixture.startActive();
        fixture.insertCommitted(20, 3);
        relay.close();
        assertThat(relay.state()).isEqualTo(RelayState.STOPPED);
        fixture.insertCommitted(5, 2);
      }
      fixture.startActive();

      OutboxOracle.Verdict verdict = oracle.await(LIMIT);

      assertThat(verdict.rows()).isEqualTo(3 * 70);
      assertThat(verdict.clean()).as("%s", verdict).isTrue();
    }
  }

  @Test
  void activeRelayMakesOutboxPartitionsAhead() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared().prepared()) {
      String newest =
          fixture.query(
              "SELECT max(inhrelid::regclass::text) FROM pg_inherits WHERE inhparent = 'payrelay.outbox'::regclass AND inhrelid::regclass::text LIKE '%_2%'");
      fixture.execute("DROP TABLE " + newest);

      fixture.startActive();

      await()
          .atMost(Duration.ofSeconds(10))
          .until(() -> fixture.query("SELECT to_regclass('%s')".formatted(newest)) != null);
      assertThat(fixture.meters.get("payrelay.relay.upkeep.failures").counter().count()).isZero();
    }
  }

  private static void mixedLoad(RelayFixture fixture, Random random) throws Exception {
    try (Connection one = fixture.connect();
        Connection two = fixture.connect()) {
      one.setAutoCommit(false);
      two.setAutoCommit(false);
      for (int i = 0; i < 20; i++) {
        // Two transactions with rows of their own aggregates, open at the same time.
        fixture.insert(one, 1 + random.nextInt(5), "now()", "one");
        fixture.insert(two, 1 + random.nextInt(5), "now() + interval '1 day'", "two");
        Savepoint savepoint = one.setSavepoint();
        fixture.insert(one, 3, "now()", "one");
        if (random.nextBoolean()) {
          one.rollback(savepoint);
        }
        // Into DEFAULT, and younger than the retention: the upkeep leaves them in the table.
        fixture.insert(one, 2, "now() - interval '3 days'", "one");
        if (random.nextInt(4) == 0) {
          two.rollback();
        } else {
          two.commit();
        }
        one.commit();
        if (i % 5 == 0) {
          copy(fixture, one);
          one.commit();
        }
      }
    }
  }

  private static void copy(RelayFixture fixture, Connection connection) throws Exception {
    StringBuilder lines = new StringBuilder();
    for (int i = 0; i < 30; i++) {
      lines
          .append("payment\tcopied\tChargeRequested\t{\"payment_id\":\"p\",\"merchant\":\"m\",")
          .append("\"merchant_order_id\":\"o\",\"provider\":\"x\",\"amount_minor\":")
          .append(fixture.number())
          .append(",\"currency\":\"EUR\"}\n");
    }
    connection
        .unwrap(PGConnection.class)
        .getCopyAPI()
        .copyIn(
            "COPY payrelay.outbox (aggregate_type, aggregate_id, event_type, payload) FROM STDIN",
            new StringReader(lines.toString()));
  }
}
