package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** An idle outbox beside heavy writes to other tables of the same database. */
@Timeout(120)
class IdleWalIT {

  private static final Duration LIMIT = Duration.ofSeconds(30);
  private static final long WRITTEN_BYTES_MIN = 64L << 20;

  /** What may be written between two heartbeats, and its way through the engine. */
  private static final long LAG_BYTES_MAX = 16L << 20;

  private static final long LAG_AT_REST_BYTES_MAX = 1L << 20;
  private static final int CHUNK_ROWS = 2000;

  private RelayFixture fixture;

  private interface Scenario {
    void run() throws Exception;
  }

  private void with(Scenario scenario) throws Exception {
    try (RelayFixture made = RelayFixture.shared().prepared()) {
      fixture = made;
      made.startActive();
      made.execute("CREATE TABLE foreign_table (filler text)");
      scenario.run();
    }
  }

  @Test
  void writesToOtherTablesHoldNoWalForTheSlot() throws Exception {
    with(
        () -> {
          long begin = wal();
          while (wal() - begin < WRITTEN_BYTES_MIN) {
            writeChunk();
            await().atMost(LIMIT).until(() -> lag("confirmed_flush_lsn") <= LAG_BYTES_MAX);
          }

          await().atMost(LIMIT).until(() -> lag("confirmed_flush_lsn") <= LAG_AT_REST_BYTES_MAX);
        });
  }

  @Test
  void oneLargeTransactionOfOthersHoldsTheSlotOnlyUntilItIsDecoded() throws Exception {
    with(
        () -> {
          try (Connection other = fixture.connect();
              Statement statement = other.createStatement()) {
            other.setAutoCommit(false);
            long begin = wal();
            while (wal() - begin < WRITTEN_BYTES_MIN) {
              statement.execute(chunk());
            }
            // Still open: what is confirmed goes on, since it lies between other commits ...
            await().atMost(LIMIT).until(() -> lag("confirmed_flush_lsn") <= LAG_AT_REST_BYTES_MAX);
            // ... but PostgreSQL keeps the WAL itself from the oldest open transaction on, for any
            // logical slot, because decoding would have to begin there again.
            assertThat(lag("restart_lsn")).isGreaterThanOrEqualTo(WRITTEN_BYTES_MIN);
            other.commit();
          }

          await()
              .atMost(LIMIT)
              .pollInterval(Duration.ofMillis(500))
              .until(
                  () -> {
                    // restart_lsn moves with the next record of the running transactions: at a
                    // checkpoint, or every 15 s.
                    fixture.execute("CHECKPOINT");
                    return lag("restart_lsn") <= LAG_BYTES_MAX;
                  });
          assertThat(lag("confirmed_flush_lsn")).isLessThanOrEqualTo(LAG_AT_REST_BYTES_MAX);
        });
  }

  private void writeChunk() throws SQLException {
    fixture.execute(chunk());
  }

  private static String chunk() {
    return "INSERT INTO foreign_table SELECT repeat(md5(n::text), 32) FROM generate_series(1, %d) n"
        .formatted(CHUNK_ROWS);
  }

  private long wal() throws SQLException {
    return Long.parseLong(fixture.query("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"));
  }

  private long lag(String place) throws SQLException {
    return Long.parseLong(
        fixture.query(
            "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), %s)::bigint FROM pg_replication_slots WHERE slot_name = '%s'"
                .formatted(place, fixture.config.slotName())));
  }
}
