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
      boolean inRecovery,
      String walLevel,
      String user,
      boolean mayReplicate,
      String systemId,
      long timeline) {}

  /**
   * A replication slot.
   *
   * @param invalidation why it is lost, where PostgreSQL says so (17 and newer)
   * @param failover whether standbys keep it too (17 and newer)
   */
  record Slot(
      String plugin,
      boolean ofThisDatabase,
      String walStatus,
      long confirmedLsn,
      boolean active,
      @Nullable String invalidation,
      boolean failover) {}

  static Server server(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery(
                """
                SELECT pg_is_in_recovery(), current_setting('wal_level'), current_user,
                  (SELECT rolreplication OR rolsuper FROM pg_roles WHERE rolname = current_user)
                    -- Amazon gives the right by a role.
                    OR EXISTS (SELECT FROM pg_roles
                      WHERE rolname = 'rds_replication' AND pg_has_role(oid, 'USAGE')),
                  (SELECT system_identifier::text FROM pg_control_system()),
                  -- pg_control_checkpoint() still names the old timeline just after a promotion.
                  CASE WHEN pg_is_in_recovery() THEN NULL
                    ELSE substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) END
                """)) {
      rows.next();
      String timeline = rows.getString(6);
      return new Server(
          rows.getBoolean(1),
          rows.getString(2),
          rows.getString(3),
          rows.getBoolean(4),
          rows.getString(5),
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
            SELECT plugin, database = current_database(), wal_status, confirmed_flush_lsn::text, active,
              -- Columns of later versions.
              to_jsonb(s) ->> 'invalidation_reason', to_jsonb(s) ->> 'failover'
            FROM pg_replication_slots s WHERE slot_name = ?
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
                rows.getBoolean(5),
                rows.getString(6),
                Boolean.parseBoolean(rows.getString(7))));
      }
    }
  }

  static boolean outboxHasRows(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery(
                "SELECT EXISTS (SELECT FROM payrelay.outbox)"
                    + " OR EXISTS (SELECT FROM payrelay.detached_outbox_rows())")) {
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
                AND NOT p.pubtruncate,
              t.schemaname || '.' || t.tablename, t.attnames::text[], t.rowfilter IS NOT NULL,
              p.puballtables
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
        if (rows.getBoolean(5)
            || !"payrelay.outbox".equals(rows.getString(2))
            || rows.getBoolean(4)) {
          return "must be of payrelay.outbox alone, all rows";
        }
        Set<String> columns = Set.of((String[]) rows.getArray(3).getArray());
        if (!columns.equals(COLUMNS)) {
          return "must have the columns " + new TreeSet<>(COLUMNS);
        }
        return rows.next() ? "must be of payrelay.outbox alone" : null;
      }
    }
  }

  /** Another one whenever the publication was altered or made anew. */
  static String publicationIdentity(Connection connection, String publicationName)
      throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(
            """
            SELECT p.oid || '.' || p.xmin || coalesce((SELECT string_agg('/' || r.oid || '.' || r.xmin, '')
              FROM pg_publication_rel r WHERE r.prpubid = p.oid), '')
            FROM pg_publication p WHERE p.pubname = ?
            """)) {
      statement.setString(1, publicationName);
      try (ResultSet rows = statement.executeQuery()) {
        return rows.next() ? rows.getString(1) : "";
      }
    }
  }

  /** What the relay's user lacks, or null; objects that are not there yet do not count. */
  static @Nullable String missingPrivileges(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery(
                """
                SELECT string_agg(lacks, ', ') FROM (
                  SELECT 'USAGE on schema payrelay' AS lacks FROM pg_namespace
                  WHERE nspname = 'payrelay' AND NOT has_schema_privilege(oid, 'USAGE')
                  UNION ALL
                  SELECT privilege || ' on payrelay.' || relname
                  FROM pg_class JOIN (VALUES ('outbox', 'SELECT'), ('relay_owner', 'SELECT'),
                    ('relay_owner', 'INSERT'), ('relay_owner', 'UPDATE'), ('schema_history', 'SELECT'))
                    AS needed (name, privilege) ON relname = name
                  WHERE relnamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'payrelay')
                    AND NOT has_table_privilege(pg_class.oid, privilege)
                  UNION ALL
                  SELECT 'EXECUTE on payrelay.' || proname FROM pg_proc
                  WHERE pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = 'payrelay')
                    AND proname = 'create_outbox_partitions' AND NOT has_function_privilege(oid, 'EXECUTE')
                  UNION ALL
                  SELECT 'EXECUTE on pg_logical_emit_message' FROM pg_proc
                  WHERE proname = 'pg_logical_emit_message' AND prosrc = 'pg_logical_emit_message_text'
                    AND NOT has_function_privilege(oid, 'EXECUTE')) AS all_of_them
                """)) {
      rows.next();
      return rows.getString(1);
    }
  }

  private static String orLost(@Nullable String walStatus) {
    return walStatus == null ? "lost" : walStatus;
  }
}
