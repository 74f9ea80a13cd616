package io.payrelay.relay;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** What the database says about itself, the slot and the publication. Stateless. */
final class SlotFacts {

  /** The columns of the outbox that go over the wire: created_at costs time and nobody needs it. */
  static final Set<String> COLUMNS =
      Set.of(
          "event_id",
          "aggregate_type",
          "aggregate_id",
          "event_type",
          "payload",
          "trace_id",
          "traceparent");

  private SlotFacts() {}

  /** The server as a whole. */
  record Server(
      boolean inRecovery, String walLevel, boolean mayReplicate, String systemId, long timeline) {}

  /** A replication slot. */
  record Slot(
      String plugin, boolean ofThisDatabase, String walStatus, long confirmedLsn, boolean active) {}

  static Server server(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery(
                """
                SELECT pg_is_in_recovery(), current_setting('wal_level'),
                  (SELECT rolreplication OR rolsuper FROM pg_roles WHERE rolname = current_user),
                  (SELECT system_identifier::text FROM pg_control_system()),
                  -- pg_control_checkpoint() still names the old timeline just after a promotion.
                  CASE WHEN pg_is_in_recovery() THEN NULL
                    ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END
                """)) {
      rows.next();
      String timeline = rows.getString(5);
      return new Server(
          rows.getBoolean(1),
          rows.getString(2),
          rows.getBoolean(3),
          rows.getString(4),
          timeline == null ? 0 : Long.parseLong(timeline, 16));
    }
  }

  static long currentLsn(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SELECT pg_current_wal_insert_lsn()::text")) {
      rows.next();
      return Lsn.parse(rows.getString(1));
    }
  }

  static Optional<Slot> slot(Connection connection, String slotName) throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(
            """
            SELECT plugin, database = current_database(), wal_status, confirmed_flush_lsn::text, active
            FROM pg_replication_slots WHERE slot_name = ?
            """)) {
      statement.setString(1, slotName);
      try (ResultSet rows = statement.executeQuery()) {
        if (!rows.next()) {
          return Optional.empty();
        }
        String plugin = rows.getString(1);
        String confirmed = rows.getString(4);
        return Optional.of(
            new Slot(
                plugin == null ? "none" : plugin,
                rows.getBoolean(2),
                // An invalidated slot has no wal_status on some versions.
                orLost(rows.getString(3)),
                confirmed == null ? 0 : Lsn.parse(confirmed),
                rows.getBoolean(5)));
      }
    }
  }

  static boolean outboxHasRows(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SELECT EXISTS (SELECT FROM payrelay.outbox)")) {
      rows.next();
      return rows.getBoolean(1);
    }
  }

  /** Null where the publication is as it must be; else what is wrong with it. */
  static @Nullable String publicationProblem(Connection connection, String publicationName)
      throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(
            """
            SELECT p.pubinsert AND p.pubviaroot AND NOT p.pubupdate AND NOT p.pubdelete
                AND NOT p.pubtruncate AND NOT p.puballtables,
              t.schemaname || '.' || t.tablename, t.attnames::text[], t.rowfilter IS NOT NULL
            FROM pg_publication p LEFT JOIN pg_publication_tables t USING (pubname)
            WHERE p.pubname = ?
            """)) {
      statement.setString(1, publicationName);
      try (ResultSet rows = statement.executeQuery()) {
        if (!rows.next()) {
          return "does not exist";
        }
        if (!rows.getBoolean(1)) {
          return "must publish inserts only, by the partition root";
        }
        if (!"payrelay.outbox".equals(rows.getString(2)) || rows.getBoolean(4)) {
          return "must be of payrelay.outbox, all rows";
        }
        Set<String> columns = Set.of((String[]) rows.getArray(3).getArray());
        if (!columns.equals(COLUMNS)) {
          return "must have the columns " + new TreeSet<>(COLUMNS);
        }
        return rows.next() ? "must be of payrelay.outbox alone" : null;
      }
    }
  }

  private static String orLost(@Nullable String walStatus) {
    return walStatus == null ? "lost" : walStatus;
  }
}
