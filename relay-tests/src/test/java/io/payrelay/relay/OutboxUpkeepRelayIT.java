package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The relay looks after the outbox's partitions while it works; each step has its test beside the
 * SQL.
 */
@Timeout(120)
class OutboxUpkeepRelayIT {

  private static final Duration LIMIT = Duration.ofSeconds(40);
  private static final Map<String, String> OFTEN =
      Map.of("PAYRELAY_OUTBOX_UPKEEP_INTERVAL_MS", "200", "PAYRELAY_OUTBOX_DAYS_AHEAD", "9");

  private static String day(RelayFixture fixture, int daysAgo) throws SQLException {
    return fixture.query(
        "SELECT 'outbox_' || to_char((now() AT TIME ZONE 'UTC')::date - %d, 'YYYYMMDD')"
            .formatted(daysAgo));
  }

  private static void makePastDay(RelayFixture fixture, int daysAgo, int rows) throws SQLException {
    fixture.execute(
        "SELECT payrelay.create_outbox_partition((now() AT TIME ZONE 'UTC')::date - "
            + daysAgo
            + ")");
    try (Connection connection = fixture.connect()) {
      fixture.insert(connection, rows, "now() - interval '%d days'".formatted(daysAgo), "old");
    }
  }

  private static boolean exists(RelayFixture fixture, String table) throws SQLException {
    return "t"
        .equals(fixture.query("SELECT to_regclass('payrelay.%s') IS NOT NULL".formatted(table)));
  }

  private static void dropDaysFromTodayOn(RelayFixture fixture) throws SQLException {
    fixture.execute(
        """
        DO $$
        DECLARE name text;
        BEGIN
          FOR name IN SELECT partition_name FROM payrelay.outbox_partitions() WHERE to_at > now() LOOP
            EXECUTE format('DROP TABLE payrelay.%I', name);
          END LOOP;
        END
        $$
        """);
  }

  private static double gauge(RelayFixture fixture, String name) {
    return fixture.meters.get("payrelay.outbox." + name).gauge().value();
  }

  private static double failures(RelayFixture fixture) {
    return fixture.meters.get("payrelay.relay.upkeep.failures").counter().count();
  }

  @Test
  void activeRelayMakesDaysAheadRotatesDefaultAndDropsWhatIsOld() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared(OFTEN).prepared();
        OutboxOracle oracle = fixture.oracle()) {
      dropDaysFromTodayOn(fixture);
      makePastDay(fixture, 13, 2);
      makePastDay(fixture, 20, 2);
      makePastDay(fixture, 30, 1);
      fixture.insertCommitted(1, 3);
      assertThat(fixture.query("SELECT count(*) FROM payrelay.outbox_default")).isEqualTo("3");

      fixture.startActive();

      await()
          .atMost(LIMIT)
          .until(() -> !exists(fixture, day(fixture, 20)) && !exists(fixture, day(fixture, 30)));
      await().atMost(LIMIT).until(() -> gauge(fixture, "days.ahead") == 9);
      fixture.insertCommitted(1, 2);
      OutboxOracle.Verdict verdict = oracle.await(LIMIT);
      // Each came once; the three of the dropped days are not in the table any more.
      assertThat(verdict.rows()).isEqualTo(7);
      assertThat(verdict.invented()).isEqualTo(3);
      assertThat(verdict.lost() + verdict.duplicated() + verdict.outOfOrder()).isZero();
      assertThat(exists(fixture, day(fixture, 13))).isTrue();
      await().atMost(LIMIT).until(() -> gauge(fixture, "default.rows") == 0);
      assertThat(fixture.meters.get("payrelay.outbox.partitions.dropped").counter().count())
          .isEqualTo(2);
      assertThat(gauge(fixture, "upkeep.age.seconds")).isLessThan(20);
    }
  }

  @Test
  void rowsThatTheRelayHasNotReadYetComeOnceFromWhereverTheirPartitionWent() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared().prepared();
        OutboxOracle oracle = fixture.oracle()) {
      fixture.startActive().close();
      dropDaysFromTodayOn(fixture);
      makePastDay(fixture, 20, 4);
      fixture.insertCommitted(2, 5);
      assertThat(fixture.query("SELECT payrelay.detach_outbox_partition(14)")).isNotNull();
      assertThat(fixture.query("SELECT payrelay.rotate_outbox_default()")).isNotNull();
      fixture.insertCommitted(1, 3);
      assertThat(fixture.query("SELECT payrelay.rotate_outbox_default(attach_bytes_max => 0)"))
          .isNull();
      // Not confirmed by the slot, hence not dropped, however old it is.
      fixture.execute("SELECT payrelay.confirm_detached_outbox()");
      assertThat(
              fixture.query(
                  "SELECT count(*) FROM payrelay.outbox_detached WHERE confirmed_at IS NULL"))
          .isEqualTo("1");

      fixture.startActive();

      OutboxOracle.Verdict verdict = oracle.await(LIMIT);
      assertThat(verdict.rows()).isEqualTo(13);
      assertThat(verdict.invented()).isEqualTo(4);
      assertThat(verdict.lost() + verdict.duplicated() + verdict.outOfOrder()).isZero();
    }
  }

  @Test
  void aDayWithAnUnresolvedDeadLetterStaysUntilItIsResolved() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared(OFTEN).prepared()) {
      makePastDay(fixture, 20, 1);
      String poisoned = "poison-" + System.nanoTime();
      fixture.execute(
          """
          INSERT INTO payrelay.outbox (aggregate_type, aggregate_id, event_type, payload, created_at)
          VALUES ('payment', '%s', 'NobodyKnows', '{}', now() - interval '20 days')
          """
              .formatted(poisoned));
      makePastDay(fixture, 21, 1);

      fixture.startActive();

      await().atMost(LIMIT).until(() -> !exists(fixture, day(fixture, 21)));
      await().atMost(LIMIT).until(() -> gauge(fixture, "partitions.held") == 1);
      assertThat(exists(fixture, day(fixture, 20))).isTrue();
      try (DeadLetters desk = fixture.deadLetters()) {
        String id =
            desk.list(new DeadLetters.Filter(5, null, null, null, null, poisoned, true))
                .get(0)
                .id();
        desk.discard(java.util.List.of(id), "somebody", "test", true);
      }

      await().atMost(LIMIT).until(() -> !exists(fixture, day(fixture, 20)));
      await().atMost(LIMIT).until(() -> gauge(fixture, "partitions.held") == 0);
    }
  }

  @Test
  void aStepThatFailsUnexpectedlyIsCountedAndTheAgeGrowsFromTheFirstRoundOn() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared(OFTEN).prepared()) {
      makePastDay(fixture, 20, 1);
      // What it answers is no number: neither the database nor Kafka has failed.
      fixture.execute(
          "ALTER FUNCTION payrelay.create_outbox_partitions(integer, integer) RENAME TO kept");
      fixture.execute(
          "CREATE FUNCTION payrelay.create_outbox_partitions(integer, integer) RETURNS text"
              + " LANGUAGE sql AS $$ SELECT 'many' $$");

      fixture.startActive();

      await().atMost(LIMIT).until(() -> failures(fixture) >= 2);
      await().atMost(LIMIT).until(() -> gauge(fixture, "upkeep.age.seconds") > 2);
      // It keeps no other step from its work.
      await().atMost(LIMIT).until(() -> !exists(fixture, day(fixture, 20)));
      assertThat(gauge(fixture, "days.ahead")).isEqualTo(7);

      fixture.execute("DROP FUNCTION payrelay.create_outbox_partitions(integer, integer)");
      fixture.execute(
          "ALTER FUNCTION payrelay.kept(integer, integer) RENAME TO create_outbox_partitions");
      await().atMost(LIMIT).until(() -> gauge(fixture, "days.ahead") == 9);
      await().atMost(LIMIT).until(() -> gauge(fixture, "upkeep.age.seconds") < 2);
    }
  }

  @Test
  void aLongTransactionOnlyDelaysTheUpkeepAndIsTold() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared(OFTEN).prepared()) {
      makePastDay(fixture, 20, 1);
      try (Connection slow = fixture.connect()) {
        slow.setAutoCommit(false);
        fixture.insert(slow, 1);
        fixture.startActive();
        await().atMost(LIMIT).until(() -> failures(fixture) >= 3);

        long before = System.nanoTime();
        fixture.insertCommitted(20, 1);

        // 200 ms for a lock, now and then: never the length of the transaction.
        assertThat(Duration.ofNanos(System.nanoTime() - before)).isLessThan(Duration.ofSeconds(10));
        assertThat(exists(fixture, day(fixture, 20))).isTrue();
        slow.commit();
      }

      await().atMost(LIMIT).until(() -> !exists(fixture, day(fixture, 20)));
    }
  }
}
