package io.payrelay.relay;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/**
 * The steps of the outbox's upkeep, each a function of the schema's owner in a transaction of its
 * own, since the relay may not change tables. Belongs to the thread of its connection.
 */
final class OutboxPartitions {

  private final Connection connection;
  private final UpkeepConfig config;

  /**
   * How the partitions stand.
   *
   * @param daysAhead after today; -1: not even today has one
   * @param held past their retention, but with unresolved dead letters
   * @param slotsKnown false: a slot of payrelay.relay_owner is missing or lost
   */
  record State(
      long daysAhead,
      long defaultRows,
      long detached,
      long held,
      long unresolved,
      boolean slotsKnown) {}

  /** On a connection in auto-commit. */
  OutboxPartitions(Connection connection, UpkeepConfig config) {
    this.connection = connection;
    this.config = config;
  }

  /** Gives the rows of a filled DEFAULT another home; the name it has then, or null. */
  @Nullable String rotateDefault() throws SQLException {
    return text("SELECT payrelay.rotate_outbox_default(?, ?)", config.daysAhead(), lockTimeoutMs());
  }

  /** Makes the days ahead; how many were missing. */
  int create() throws SQLException {
    String made =
        text("SELECT payrelay.create_outbox_partitions(?, ?)", config.daysAhead(), lockTimeoutMs());
    return made == null ? 0 : Integer.parseInt(made);
  }

  /** Takes one old day out of the outbox; its name, or null where there is none. */
  @Nullable String detachOld() throws SQLException {
    return text(
        "SELECT payrelay.detach_outbox_partition(?, ?)", config.retentionDays(), lockTimeoutMs());
  }

  /** Notes which detached ones every slot has passed. Before the dead letters are read. */
  void confirmDetached() throws SQLException {
    text("SELECT payrelay.confirm_detached_outbox()");
  }

  /** Drops one that was detached; its name, or null where there is none. */
  @Nullable String dropDetached() throws SQLException {
    return text(
        "SELECT payrelay.drop_outbox_partition(?, ?)", config.retentionDays(), lockTimeoutMs());
  }

  State state() throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(
            """
            SELECT days_ahead, default_rows, detached_count, held_count, unresolved_count, slots_known
            FROM payrelay.outbox_upkeep_state(?)
            """)) {
      statement.setInt(1, config.retentionDays());
      try (ResultSet rows = statement.executeQuery()) {
        rows.next();
        return new State(
            rows.getLong(1),
            rows.getLong(2),
            rows.getLong(3),
            rows.getLong(4),
            rows.getLong(5),
            rows.getBoolean(6));
      }
    }
  }

  private int lockTimeoutMs() {
    return Math.toIntExact(config.lockTimeout().toMillis());
  }

  private @Nullable String text(String sql, int... arguments) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      for (int i = 0; i < arguments.length; i++) {
        statement.setInt(i + 1, arguments[i]);
      }
      try (ResultSet rows = statement.executeQuery()) {
        return rows.next() ? rows.getString(1) : null;
      }
    }
  }
}
