package io.payrelay.relay;

import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The right to try: one relay at a time owns a slot, by a row that names it until a time of the
 * database's clock. The row also names the owner's backends; when all of them are gone, so is the
 * owner, and nobody waits for the time. It decides who works; safety is Kafka's fencing. Belongs to
 * one thread.
 */
final class SlotLease implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(SlotLease.class);

  private static final int TERMINATE_LIMIT_MS = 2000;
  private static final int TERMINATE_TRIES = 5;

  private static final String ACQUIRE =
      """
      INSERT INTO payrelay.relay_owner AS held (slot_name, owner, lease_until, backends)
      SELECT ?, ?, clock_timestamp() + ? * interval '1 millisecond',
        jsonb_build_array(jsonb_build_object('pid', a.pid, 'backend_start', a.backend_start))
      FROM pg_stat_activity a WHERE a.pid = pg_backend_pid()
      ON CONFLICT (slot_name) DO UPDATE
      SET owner = excluded.owner, lease_until = excluded.lease_until, backends = excluded.backends
      WHERE held.owner = excluded.owner
        OR held.lease_until < clock_timestamp()
        OR (jsonb_array_length(held.backends) > 0 AND NOT EXISTS (
          SELECT FROM jsonb_array_elements(held.backends) b
          JOIN pg_stat_activity a ON a.pid = (b ->> 'pid')::integer
          -- Of another user's backend the start is hidden: then the pid alone must do.
          WHERE a.backend_start IS NULL OR a.backend_start = (b ->> 'backend_start')::timestamptz))
      """;

  /** Only as long as the row is still ours; the walsender is named as soon as there is one. */
  private static final String RENEW =
      """
      UPDATE payrelay.relay_owner
      SET lease_until = clock_timestamp() + ? * interval '1 millisecond',
        backends = (
          SELECT jsonb_agg(jsonb_build_object('pid', a.pid, 'backend_start', a.backend_start))
          FROM pg_stat_activity a
          WHERE a.pid = pg_backend_pid()
            OR a.pid = (SELECT s.active_pid FROM pg_replication_slots s WHERE s.slot_name = ?))
      WHERE slot_name = ? AND owner = ?
      """;

  private static final String RELEASE =
      """
      UPDATE payrelay.relay_owner SET lease_until = '-infinity', backends = '[]'
      WHERE slot_name = ? AND owner = ?
      """;

  private final Connection connection;
  private final String slotName;
  private final String owner;
  private final Duration lease;

  private SlotLease(Connection connection, String slotName, String owner, Duration lease) {
    this.connection = connection;
    this.slotName = slotName;
    this.owner = owner;
    this.lease = lease;
  }

  /** Connects; the lease is not held yet. */
  static SlotLease open(DatabaseConfig database, String slotName, String owner, Duration lease) {
    Connection connection = DatabaseConnection.open(database, "payrelay-relay-lease", lease);
    try (Statement statement = connection.createStatement()) {
      // A lease that a crash of the server forgets is harmless; one that waits for a standby's
      // disk is not.
      statement.execute("SET synchronous_commit = off");
    } catch (SQLException e) {
      throw failed("be prepared", e);
    }
    return new SlotLease(connection, slotName, owner, lease);
  }

  /** For start-up checks and gauges on the lease's own connection. */
  Connection connection() {
    return connection;
  }

  /** Whether the slot is there, or was when somebody owned it. */
  boolean isKnown() {
    try (PreparedStatement statement =
        connection.prepareStatement(
            """
            SELECT EXISTS (SELECT FROM pg_replication_slots
                WHERE slot_name = ? AND database = current_database())
              OR EXISTS (SELECT FROM payrelay.relay_owner WHERE slot_name = ?)
              -- A standby has the slot once it is promoted, if at all.
              OR pg_is_in_recovery()
            """)) {
      statement.setString(1, slotName);
      statement.setString(2, slotName);
      try (ResultSet rows = statement.executeQuery()) {
        rows.next();
        return rows.getBoolean(1);
      }
    } catch (SQLException e) {
      throw failed("be looked for", e);
    }
  }

  /** Takes the lease where it is free, expired, ours, or its owner's backends are gone. */
  boolean acquire() {
    try (PreparedStatement statement = connection.prepareStatement(ACQUIRE)) {
      statement.setString(1, slotName);
      statement.setString(2, owner);
      statement.setLong(3, lease.toMillis());
      return statement.executeUpdate() == 1;
    } catch (SQLException e) {
      throw failed("be acquired", e);
    }
  }

  /** Prolongs the lease; false where somebody else has it. */
  boolean renew() {
    try (PreparedStatement statement = connection.prepareStatement(RENEW)) {
      statement.setLong(1, lease.toMillis());
      statement.setString(2, slotName);
      statement.setString(3, slotName);
      statement.setString(4, owner);
      return statement.executeUpdate() == 1;
    } catch (SQLException e) {
      throw failed("be renewed", e);
    }
  }

  /** Lets a standby go on at once. */
  void release() {
    try (PreparedStatement statement = connection.prepareStatement(RELEASE)) {
      statement.setString(1, slotName);
      statement.setString(2, owner);
      // Nothing to release where somebody else took it: that is what was wanted.
      statement.executeUpdate();
    } catch (SQLException e) {
      log.debug("slot={} lease could not be released: it will expire", slotName, e);
    }
  }

  /**
   * Ends whatever walsender still streams from the slot, an earlier owner's or our own last one.
   *
   * @throws PayrelayException RETRIABLE where it does not end
   */
  void endWalsender() {
    try (PreparedStatement statement =
        connection.prepareStatement(
            """
            SELECT active_pid, pg_terminate_backend(active_pid, ?)
            FROM pg_replication_slots
            WHERE slot_name = ? AND active_pid IS NOT NULL AND database = current_database()
            """)) {
      for (int tries = 0; tries < TERMINATE_TRIES; tries++) {
        statement.setLong(1, Math.min(TERMINATE_LIMIT_MS, lease.toMillis() / 2));
        statement.setString(2, slotName);
        try (ResultSet rows = statement.executeQuery()) {
          if (!rows.next()) {
            return;
          }
          log.info("slot={} ended the walsender of its former owner", slotName);
        }
      }
    } catch (SQLException e) {
      throw failed("end the former walsender", e);
    }
    throw new PayrelayException(
        Category.RETRIABLE, "The former walsender of slot " + slotName + " does not end");
  }

  /**
   * Whether the slot's walsender is decoding, not waiting for WAL or for its client; null where no
   * walsender works on the slot.
   */
  @Nullable Boolean walsenderBusy() {
    try (PreparedStatement statement =
        connection.prepareStatement(
            """
            SELECT coalesce(activity.wait_event_type, '') NOT IN ('Activity', 'Client')
              -- It waits for a standby that synchronized_standby_slots names.
              OR activity.wait_event = 'WaitForStandbyConfirmation'
            FROM pg_replication_slots slot
              JOIN pg_stat_activity activity ON activity.pid = slot.active_pid
            WHERE slot.slot_name = ?
            """)) {
      statement.setString(1, slotName);
      try (ResultSet rows = statement.executeQuery()) {
        return rows.next() ? Boolean.valueOf(rows.getBoolean(1)) : null;
      }
    } catch (SQLException e) {
      throw failed("read the walsender's state", e);
    }
  }

  /** How far the slot is behind, and how much room it has. */
  SlotWatch watch() {
    try (PreparedStatement statement =
        connection.prepareStatement(
            """
            SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn)::float8,
              safe_wal_size::float8
            FROM pg_replication_slots WHERE slot_name = ? AND NOT pg_is_in_recovery()
            """)) {
      statement.setString(1, slotName);
      try (ResultSet rows = statement.executeQuery()) {
        return rows.next()
            ? new SlotWatch(orNaN(rows, rows.getDouble(1)), orNaN(rows, rows.getDouble(2)))
            : SlotWatch.UNKNOWN;
      }
    } catch (SQLException e) {
      throw failed("read the slot's lag", e);
    }
  }

  private static double orNaN(ResultSet rows, double justRead) throws SQLException {
    return rows.wasNull() ? Double.NaN : justRead;
  }

  @Override
  public void close() {
    try {
      connection.close();
    } catch (SQLException e) {
      log.debug("slot={} lease connection was closed already", slotName, e);
    }
  }

  private static PayrelayException failed(String what, SQLException cause) {
    return StartupCheck.failed("The slot's lease could not " + what, cause);
  }
}
