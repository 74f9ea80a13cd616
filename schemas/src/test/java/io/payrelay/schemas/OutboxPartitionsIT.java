package io.payrelay.schemas;

import static io.payrelay.schemas.MigratedDatabase.refused;
import static io.payrelay.schemas.MigratedDatabase.rows;
import static io.payrelay.schemas.MigratedDatabase.run;
import static io.payrelay.schemas.MigratedDatabase.value;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.StringReader;
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
import org.postgresql.PGConnection;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

@Timeout(120)
class OutboxPartitionsIT {

  private static final String WHERE =
      " (aggregate_type, aggregate_id, event_type, payload, created_at) VALUES ('a', 'b', 'ChargeRequested', '{}', ";

  private MigratedDatabase database;
  private Connection owner;

  @BeforeEach
  void migrate() throws SQLException {
    database = MigratedDatabase.open();
    owner = database.owner();
  }

  @AfterEach
  void disconnect() throws SQLException {
    owner.close();
  }

  private static String insertAt(String createdAt) {
    return "INSERT INTO payrelay.outbox" + WHERE + createdAt + ")";
  }

  private String partitionOfRows() throws SQLException {
    return value(
        owner,
        "SELECT string_agg(DISTINCT relname, ',') FROM payrelay.outbox o JOIN pg_class c ON c.oid = o.tableoid");
  }

  @Test
  void areMadeAheadForToday() throws SQLException {
    assertThat(
            value(
                owner,
                "SELECT count(*) FROM pg_inherits WHERE inhparent = 'payrelay.outbox'::regclass"))
        .isEqualTo("9");
    run(
        owner,
        "INSERT INTO payrelay.outbox (aggregate_type, aggregate_id, event_type, payload)"
            + " VALUES ('a', 'b', 'ChargeRequested', '{}')");

    assertThat(partitionOfRows())
        .isEqualTo(
            value(owner, "SELECT 'outbox_' || to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD')"));
  }

  @Test
  void areMadeOnceAndByTheRelayToo() throws SQLException {
    try (Connection relay = database.as("relay")) {
      assertThat(value(relay, "SELECT payrelay.create_outbox_partitions(10)")).isEqualTo("3");
      assertThat(value(relay, "SELECT payrelay.create_outbox_partitions(10)")).isEqualTo("0");
      refused(
          relay,
          "SELECT payrelay.create_outbox_partitions(1000)",
          "22023",
          "is not between 0 and 366");
      assertThat(value(relay, "SHOW lock_timeout")).isEqualTo("0");
    }
  }

  @Test
  void areCutAtMidnightUtc() throws SQLException {
    run(owner, "SET TimeZone = 'Asia/Shanghai'");
    assertThat(value(owner, "SELECT payrelay.create_outbox_partitions(8)")).isEqualTo("1");
    run(owner, insertAt("((now() AT TIME ZONE 'UTC')::date + 8)::timestamp AT TIME ZONE 'UTC'"));

    assertThat(partitionOfRows())
        .isEqualTo(
            value(
                owner,
                "SELECT 'outbox_' || to_char((now() AT TIME ZONE 'UTC')::date + 8, 'YYYYMMDD')"));
  }

  @Test
  void leaveTheDayOfRowsThatLieInDefault() throws SQLException {
    run(owner, insertAt("now() + interval '9 days'"));
    assertThat(partitionOfRows()).isEqualTo("outbox_default");

    assertThat(value(owner, "SELECT payrelay.create_outbox_partitions(10)")).isEqualTo("2");

    assertThat(partitionOfRows()).isEqualTo("outbox_default");
    assertThat(
            value(
                owner,
                "SELECT to_regclass('payrelay.outbox_' || to_char((now() AT TIME ZONE 'UTC')::date + 9, 'YYYYMMDD'))"))
        .isEqualTo("null");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "'infinity'",
        "'-infinity'",
        "'1999-12-31 23:59:59+00'",
        "clock_timestamp() + interval '367 days'"
      })
  void andWhateverElseBelievesInATimeAreSparedThoseThatCannotBeTrue(String createdAt)
      throws SQLException {
    run(owner, insertAt("now() - interval '20 years'"));
    run(owner, insertAt("now() + interval '365 days'"));
    run(
        owner,
        "INSERT INTO payrelay.payment (payment_id, merchant, merchant_order_id, provider, amount_minor,"
            + " currency) VALUES ('pay_time', 'm', 'o', 'x', 1, 'EUR')");
    String payment =
        "INSERT INTO payrelay.payment (payment_id, merchant, merchant_order_id, provider, amount_minor,"
            + " currency, created_at) VALUES ('pay_other', 'm', 'p', 'x', 1, 'EUR', %s)";
    String refund =
        "INSERT INTO payrelay.refund (refund_id, payment_id, amount_minor, currency, created_at)"
            + " VALUES ('ref_time', 'pay_time', 1, 'EUR', %s)";

    for (String sql : List.of(insertAt(createdAt), payment, refund)) {
      refused(owner, sql.formatted(createdAt), "23514", "is no time at which it can have been");
    }
    assertThatThrownBy(() -> run(owner, insertAt(createdAt)))
        .isInstanceOfSatisfying(
            PSQLException.class,
            refusal ->
                assertThat(refusal.getServerErrorMessage())
                    .extracting(ServerErrorMessage::getConstraint)
                    .isEqualTo("outbox_created_at_range"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"'infinity'", "'-infinity'", "now() + interval '300 days'"})
  void areRotatedAroundRowsThatWouldKeepThemForEver(String createdAt) throws SQLException {
    run(owner, "DROP TRIGGER created_at_range ON payrelay.outbox");
    run(owner, insertAt(createdAt));
    run(owner, insertAt("now() + interval '9 days'"));

    assertThat(value(owner, "SELECT payrelay.rotate_outbox_default()")).startsWith("outbox_def");

    assertThat(value(owner, "SELECT count(*) FROM payrelay.outbox")).isEqualTo("0");
    assertThat(value(owner, "SELECT payrelay.create_outbox_partitions(10)")).isEqualTo("3");
    assertThat(
            value(
                owner,
                "SELECT count(*) FROM payrelay.detached_outbox_heads('-infinity', 'infinity')"))
        .isEqualTo("2");
  }

  @Test
  void keepEventIdsUniqueWithoutAnIndexOnTheRoot() throws SQLException {
    String sql =
        "INSERT INTO payrelay.outbox (event_id, aggregate_type, aggregate_id, event_type, payload)"
            + " VALUES ('00000000-0000-0000-0000-000000000001', 'a', 'b', 'ChargeRequested', '{}')";
    run(owner, sql);

    refused(owner, sql, "23505", "_event_id_key");
    assertThat(rows(owner, "SELECT 1 FROM pg_index WHERE indrelid = 'payrelay.outbox'::regclass"))
        .isEmpty();
  }

  @Test
  void blockInsertsNoLongerThanTheLockTimeout() throws Exception {
    try (Connection slow = database.as("worker");
        Connection maker = database.owner();
        Connection other = database.owner()) {
      slow.setAutoCommit(false);
      run(
          slow,
          "INSERT INTO payrelay.outbox (aggregate_type, aggregate_id, event_type, payload)"
              + " VALUES ('a', 'b', 'ChargeRequested', '{}')");
      owner.setAutoCommit(false);
      run(owner, insertAt("now() + interval '20 days'"));

      CompletableFuture<Void> making =
          CompletableFuture.runAsync(
              () ->
                  refused(
                      maker,
                      "SELECT payrelay.create_outbox_partitions(10)",
                      "55P03",
                      "lock timeout"));
      Awaitility.await()
          .until(
              () ->
                  value(
                          other,
                          "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                              + " AND datname = current_database()")
                      .equals("1"));
      run(other, "SET statement_timeout = '20s'");
      long before = System.nanoTime();
      run(other, insertAt("now() + interval '20 days'"));
      run(other, insertAt("now()"));

      assertThat(Duration.ofNanos(System.nanoTime() - before)).isLessThan(Duration.ofSeconds(10));
      assertThat(making).succeedsWithin(Duration.ofSeconds(20));
      // With the long transaction over, the next try makes them.
      owner.rollback();
      slow.rollback();
      assertThat(value(maker, "SELECT payrelay.create_outbox_partitions(10)")).isEqualTo("3");
    }
    owner.setAutoCommit(true);
  }

  /** CREATE TABLE ... PARTITION OF would wait for every writer of the outbox. */
  @Test
  void areMadeWhileTransactionsAreOpenThatWroteToToday() throws Exception {
    try (Connection slow = database.as("worker");
        Connection relay = database.as("relay")) {
      slow.setAutoCommit(false);
      run(
          slow,
          "INSERT INTO payrelay.outbox (aggregate_type, aggregate_id, event_type, payload)"
              + " VALUES ('a', 'b', 'ChargeRequested', '{}')");

      // The function itself gives up after its lock timeout of 200 ms.
      assertThat(value(relay, "SELECT payrelay.create_outbox_partitions(10)")).isEqualTo("3");

      slow.rollback();
    }
  }

  @Test
  void takeRowsByCopyAsOwner() throws Exception {
    long copied =
        owner
            .unwrap(PGConnection.class)
            .getCopyAPI()
            .copyIn(
                "COPY payrelay.outbox (aggregate_type, aggregate_id, event_type, payload) FROM STDIN",
                new StringReader(
                    "payment\tp1\tChargeRequested\t{}\npayment\tp2\tChargeRequested\t{}\n"));

    assertThat(copied).isEqualTo(2);
    assertThat(value(owner, "SELECT count(*) FROM payrelay.outbox")).isEqualTo("2");
  }

  @Test
  void showRowsToRelayAndOperatorsOnly() throws SQLException {
    run(owner, insertAt("now()"));
    for (String role : new String[] {"relay", "operator"}) {
      try (Connection reader = database.as(role)) {
        assertThat(value(reader, "SELECT count(*) FROM payrelay.outbox")).isEqualTo("1");
      }
    }
    for (String role : new String[] {"worker", "ingest", "upstream"}) {
      try (Connection reader = database.as(role)) {
        refused(reader, "SELECT count(*) FROM payrelay.outbox", "42501", "permission denied");
      }
    }
  }
}
