package io.payrelay.schemas;

import static io.payrelay.schemas.MigratedDatabase.refused;
import static io.payrelay.schemas.MigratedDatabase.rows;
import static io.payrelay.schemas.MigratedDatabase.run;
import static io.payrelay.schemas.MigratedDatabase.value;
import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Days are made in the past, so that nobody has to wait for them. */
@Timeout(120)
class OutboxUpkeepIT {

  private static final int RETENTION_DAYS = 14;
  private static final String DETACH = "SELECT payrelay.detach_outbox_partition(14)";
  private static final String CONFIRM = "SELECT payrelay.confirm_detached_outbox()";
  private static final String DROP = "SELECT payrelay.drop_outbox_partition(14)";
  private static final String ROTATE = "SELECT payrelay.rotate_outbox_default()";
  private static final String NONE = "null";

  private MigratedDatabase database;
  private Connection owner;
  private Connection relay;
  private String slot;

  @BeforeEach
  void migrate() throws SQLException {
    database = MigratedDatabase.open();
    owner = database.owner();
    relay = database.as("relay");
    slot = "slot_" + value(owner, "SELECT current_database()");
  }

  @AfterEach
  void disconnect() throws SQLException {
    run(
        owner,
        "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '%s'"
            .formatted(slot));
    relay.close();
    owner.close();
  }

  private static String insertAt(String createdAt) {
    return "INSERT INTO payrelay.outbox (aggregate_type, aggregate_id, event_type, payload, created_at)"
        + " VALUES ('a', 'b', 'ChargeRequested', '{}', "
        + createdAt
        + ")";
  }

  /** A day in the past with one row in it; returns the partition's name. */
  private String pastDay(int daysAgo) throws SQLException {
    run(
        owner,
        "SELECT payrelay.create_outbox_partition((now() AT TIME ZONE 'UTC')::date - "
            + daysAgo
            + ")");
    run(owner, insertAt("now() - interval '%d days'".formatted(daysAgo)));
    return value(
        owner,
        "SELECT 'outbox_' || to_char((now() AT TIME ZONE 'UTC')::date - %d, 'YYYYMMDD')"
            .formatted(daysAgo));
  }

  private void makeSlot() throws SQLException {
    run(owner, "SELECT pg_create_logical_replication_slot('%s', 'pgoutput')".formatted(slot));
    run(
        owner,
        "INSERT INTO payrelay.relay_owner (slot_name, owner, lease_until) VALUES ('%s', 'x', now())"
            .formatted(slot));
  }

  private void confirmSlot() throws SQLException {
    run(owner, "SELECT pg_replication_slot_advance('%s', pg_current_wal_lsn())".formatted(slot));
  }

  /** As the relay does it after it has read the topic to its end. */
  private void deadLettersRead() throws SQLException {
    run(
        relay,
        "INSERT INTO payrelay.dead_letter_progress VALUES ('t', 1, clock_timestamp())"
            + " ON CONFLICT (topic_id) DO UPDATE SET complete_at = excluded.complete_at");
  }

  private void deadLetter(int offset, String source, String eventId) throws SQLException {
    run(
        relay,
        "INSERT INTO payrelay.dead_letter (topic_id, topic_offset, dead_lettered_at, source, event_id,"
            + " reason_code, reason) VALUES ('t', %d, now(), '%s', %s, 'mismatch', 'x')"
                .formatted(offset, source, eventId));
  }

  private void discard(int offset) throws SQLException {
    run(
        relay,
        "INSERT INTO payrelay.dead_letter_resolution VALUES ('t', %d, 'DISCARDED', now(), 'me', 'test')"
            .formatted(offset));
  }

  private boolean exists(String table) throws SQLException {
    return value(owner, "SELECT to_regclass('payrelay.%s') IS NOT NULL".formatted(table))
        .equals("t");
  }

  private String outboxRows() throws SQLException {
    return value(owner, "SELECT count(*) FROM payrelay.outbox");
  }

  private void dropDaysFromTodayOn() throws SQLException {
    for (String name :
        rows(
            owner, "SELECT partition_name FROM payrelay.outbox_partitions() WHERE to_at > now()")) {
      run(owner, "DROP TABLE payrelay." + name);
    }
  }

  @Test
  void aFilledDefaultBecomesThePartitionOfItsDaysAndNoRowMoves() throws SQLException {
    dropDaysFromTodayOn();
    run(owner, insertAt("now() - interval '2 days'"));
    run(owner, insertAt("now()"));
    String before = rows(owner, "SELECT ctid, xmin FROM payrelay.outbox ORDER BY 1").toString();

    String rotated = value(relay, ROTATE);

    assertThat(rotated).startsWith("outbox_default_2");
    assertThat(rows(owner, "SELECT ctid, xmin FROM payrelay.outbox ORDER BY 1"))
        .hasToString(before);
    assertThat(
            rows(
                owner,
                "SELECT DISTINCT relname FROM payrelay.outbox o JOIN pg_class c ON c.oid = o.tableoid"))
        .containsExactly(rotated);
    // Today goes on there, tomorrow has a partition of its own, DEFAULT stays empty.
    assertThat(value(relay, "SELECT payrelay.create_outbox_partitions(3)")).isEqualTo("3");
    run(owner, insertAt("now()"));
    run(owner, insertAt("now() + interval '1 day'"));
    assertThat(value(owner, "SELECT count(*) FROM payrelay.outbox_default")).isEqualTo("0");
    assertThat(value(owner, "SELECT count(*) FROM payrelay." + rotated)).isEqualTo("3");
    assertThat(value(relay, ROTATE)).isEqualTo(NONE);
    refused(
        owner,
        "INSERT INTO payrelay.outbox SELECT * FROM payrelay." + rotated,
        "23505",
        rotated + "_event_id_key");
  }

  @Test
  void aDefaultTooLargeToLookThroughStaysBesideTheOutboxUntilItIsDropped() throws SQLException {
    makeSlot();
    dropDaysFromTodayOn();
    run(owner, insertAt("now()"));

    String rotated = value(relay, "SELECT payrelay.rotate_outbox_default(attach_bytes_max => 0)");

    assertThat(outboxRows()).isEqualTo("0");
    assertThat(value(relay, "SELECT count(*) FROM payrelay.detached_outbox_rows()")).isEqualTo("1");
    run(owner, insertAt("now()"));
    assertThat(value(owner, "SELECT count(*) FROM payrelay.outbox_default")).isEqualTo("0");
    confirmSlot();
    assertThat(value(relay, CONFIRM)).isEqualTo("1");
    deadLettersRead();
    assertThat(value(relay, DROP)).isEqualTo(NONE);
    run(owner, "UPDATE payrelay.outbox_detached SET end_at = end_at - interval '15 days'");
    assertThat(value(relay, DROP)).isEqualTo(rotated);
    assertThat(exists(rotated)).isFalse();
  }

  @Test
  void aDefaultWhoseRowsLieAmongExistingDaysIsRotatedOnceADay() throws SQLException {
    run(owner, insertAt("now() - interval '400 days'"));
    run(owner, insertAt("now() + interval '40 days'"));

    assertThat(value(relay, ROTATE)).startsWith("outbox_default_2");
    assertThat(value(relay, "SELECT count(*) FROM payrelay.detached_outbox_rows()")).isEqualTo("2");
    run(owner, insertAt("now() - interval '400 days'"));
    assertThat(value(relay, ROTATE)).isEqualTo(NONE);
    run(owner, "UPDATE payrelay.outbox_detached SET detached_at = now() - interval '25 hours'");

    assertThat(value(relay, ROTATE)).startsWith("outbox_default_2");
  }

  @Test
  void aDayIsDroppedOnlyWhenItIsOldAndEverySlotAndTheDeadLettersArePast() throws SQLException {
    pastDay(13);
    String old = pastDay(16);
    // Without a slot nobody knows what Kafka has.
    assertThat(value(relay, DETACH)).isEqualTo(NONE);
    makeSlot();
    run(
        owner,
        "INSERT INTO payrelay.relay_owner (slot_name, owner, lease_until) VALUES ('gone', 'x', now())");
    assertThat(value(relay, DETACH)).isEqualTo(NONE);
    run(owner, "DELETE FROM payrelay.relay_owner WHERE slot_name = 'gone'");

    assertThat(value(relay, DETACH)).isEqualTo(old);
    assertThat(value(relay, DETACH)).isEqualTo(NONE);
    assertThat(outboxRows()).isEqualTo("1");
    assertThat(value(relay, "SELECT count(*) FROM payrelay.detached_outbox_rows()")).isEqualTo("1");

    deadLettersRead();
    assertThat(value(relay, CONFIRM)).isEqualTo("0");
    assertThat(value(relay, DROP)).isEqualTo(NONE);
    confirmSlot();
    assertThat(value(relay, CONFIRM)).isEqualTo("1");
    // Read before the slot had passed it: a dead letter of its rows may have come since.
    assertThat(value(relay, DROP)).isEqualTo(NONE);
    deadLettersRead();
    assertThat(value(relay, DROP)).isEqualTo(old);
    assertThat(exists(old)).isFalse();
    assertThat(value(owner, "SELECT dropped_at IS NOT NULL FROM payrelay.outbox_detached"))
        .isEqualTo("t");
    assertThat(value(relay, "SELECT count(*) FROM payrelay.detached_outbox_rows()")).isEqualTo("0");
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aDayWithAnUnresolvedDeadLetterIsNeverDropped(boolean foundAfterDetaching)
      throws SQLException {
    makeSlot();
    String day = pastDay(20);
    String eventId = value(owner, "SELECT event_id FROM payrelay.outbox");
    if (foundAfterDetaching) {
      assertThat(value(relay, DETACH)).isEqualTo(day);
    }
    deadLetter(7, "relay", "'%s'".formatted(eventId));
    assertThat(value(relay, DETACH)).isEqualTo(NONE);
    confirmSlot();
    value(relay, CONFIRM);
    deadLettersRead();
    assertThat(value(relay, DROP)).isEqualTo(NONE);
    assertThat(
            value(
                relay,
                "SELECT held_count || ' ' || unresolved_count FROM payrelay.outbox_upkeep_state(14)"))
        .isEqualTo("1 1");

    discard(7);

    if (!foundAfterDetaching) {
      assertThat(value(relay, DETACH)).isEqualTo(day);
      confirmSlot();
      value(relay, CONFIRM);
      deadLettersRead();
    }
    assertThat(value(relay, DROP)).isEqualTo(day);
  }

  @Test
  void deadLettersThatNobodyCouldReadHoldEveryDay() throws SQLException {
    makeSlot();
    String day = pastDay(20);
    deadLetter(3, "gap", "NULL");
    assertThat(value(relay, DETACH)).isEqualTo(NONE);

    discard(3);

    assertThat(value(relay, DETACH)).isEqualTo(day);
  }

  @Test
  void whatWasNotedOfDeadLettersIsEvidence() throws SQLException {
    deadLetter(1, "relay", "NULL");
    discard(1);
    for (String table : List.of("dead_letter", "dead_letter_resolution")) {
      refused(owner, "DELETE FROM payrelay." + table, "23001", "append-only");
      refused(owner, "UPDATE payrelay.%s SET topic_id = 'y'".formatted(table), "23001", "append");
    }
    refused(owner, "TRUNCATE payrelay.dead_letter_resolution", "23001", "append-only");
    try (Connection worker = database.as("worker")) {
      refused(worker, "SELECT FROM payrelay.dead_letter", "42501", "permission denied");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"detach", "rotate"})
  void aLongTransactionNeverMakesItBlockInserts(String step) throws Exception {
    makeSlot();
    pastDay(20);
    run(owner, insertAt("now() - interval '400 days'"));
    String sql =
        step.equals("detach")
            ? "SELECT payrelay.detach_outbox_partition(14, 1000)"
            : "SELECT payrelay.rotate_outbox_default(lock_timeout_ms => 1000)";
    try (Connection slow = database.owner();
        Connection other = database.owner()) {
      slow.setAutoCommit(false);
      run(slow, insertAt("now()"));
      CompletableFuture<Void> upkeep =
          CompletableFuture.runAsync(() -> refused(relay, sql, "55P03", "lock timeout"));
      Awaitility.await()
          .until(
              () ->
                  value(
                          other,
                          "SELECT count(*) FROM pg_locks WHERE relation = 'payrelay.outbox'::regclass AND NOT granted")
                      .equals("1"));
      run(other, "SET statement_timeout = '10s'");
      long before = System.nanoTime();
      run(other, insertAt("now()"));

      assertThat(Duration.ofNanos(System.nanoTime() - before)).isLessThan(Duration.ofSeconds(5));
      assertThat(upkeep).succeedsWithin(Duration.ofSeconds(20));
      slow.commit();
      assertThat(value(relay, sql)).startsWith("outbox_");
    }
  }

  @Test
  void theRelayHoldsNoRightToChangeTablesItself() throws SQLException {
    String day = pastDay(20);
    for (String sql :
        List.of(
            "DROP TABLE payrelay." + day,
            "ALTER TABLE payrelay.outbox DETACH PARTITION payrelay." + day,
            "CREATE TABLE payrelay.mine (a int)",
            "DELETE FROM payrelay.outbox",
            "DELETE FROM payrelay.outbox_detached",
            "SELECT payrelay.create_outbox_partition('2020-01-01')")) {
      refused(relay, sql, "42501", "");
    }
    refused(relay, "SELECT payrelay.drop_outbox_partition(1)", "22023", "not between 2 and 3650");
    refused(relay, "SELECT payrelay.detach_outbox_partition(14, 0)", "22023", "lock_timeout_ms");
    for (String role : List.of("upstream", "worker", "ingest", "operator")) {
      try (Connection other = database.as(role)) {
        refused(other, DROP, "42501", "permission denied");
      }
    }
    assertThat(value(relay, "SHOW lock_timeout")).isEqualTo("0");
  }

  @Test
  void whenTheUpkeepStopsInsertsGoOnAndTheStateTellsIt() throws SQLException {
    String state =
        "SELECT days_ahead || ' ' || default_rows || ' ' || slots_known FROM payrelay.outbox_upkeep_state(%d)"
            .formatted(RETENTION_DAYS);
    assertThat(value(relay, state)).isEqualTo("7 0 false");
    dropDaysFromTodayOn();

    run(owner, insertAt("now()"));

    assertThat(value(relay, state)).isEqualTo("-1 1 false");
    makeSlot();
    value(relay, ROTATE);
    run(relay, "SELECT payrelay.create_outbox_partitions(5)");
    assertThat(value(relay, state)).isEqualTo("5 0 true");
  }
}
