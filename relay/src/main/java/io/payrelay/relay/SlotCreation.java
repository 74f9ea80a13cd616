package io.payrelay.relay;

import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.errors.Failures;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes the relay's slot. Stateless. */
final class SlotCreation {

  private static final Logger log = LoggerFactory.getLogger(SlotCreation.class);

  private static final int FAILOVER_SINCE = 17;

  private SlotCreation() {}

  /**
   * Makes it and returns where it starts: whatever commits after that comes. It waits for every
   * transaction that is open, so the connection must be in none.
   */
  static long create(Connection connection, RelayConfig config) throws SQLException {
    requireFailoverSupport(connection, config);
    // The parameter is unknown to older servers, which never get here with it.
    String failover = config.slotFailover() ? ", failover => true" : "";
    try (PreparedStatement statement =
        connection.prepareStatement(
            "SELECT lsn::text FROM pg_create_logical_replication_slot(?, 'pgoutput'%s)"
                .formatted(failover))) {
      statement.setString(1, config.slotName());
      try (ResultSet rows = statement.executeQuery()) {
        rows.next();
        String lsn = rows.getString(1);
        log.info("slot={} made at {} failover={}", config.slotName(), lsn, config.slotFailover());
        return Lsn.parse(lsn);
      }
    } catch (SQLException e) {
      // 53400, configuration_limit_exceeded
      if ("53400".equals(Failures.sqlState(e))) {
        throw StartupCheck.refused(
            "PostgreSQL has no replication slot left for %s: raise max_replication_slots and restart it, or drop a slot that nobody uses (SELECT slot_name, active FROM pg_replication_slots)"
                .formatted(config.slotName()));
      }
      throw e;
    }
  }

  /** Makes an existing slot one that standbys keep too, where that is wanted. */
  static void ensureFailover(Connection connection, DatabaseConfig database, RelayConfig config)
      throws SQLException {
    requireFailoverSupport(connection, config);
    boolean has =
        SlotFacts.slot(connection, config.slotName()).map(SlotFacts.Slot::failover).orElse(false);
    if (!config.slotFailover() || has) {
      return;
    }
    try {
      ReplicationCommands.enableFailover(database, config.slotName());
      log.info("slot={} is a failover slot now", config.slotName());
    } catch (SQLException e) {
      log.warn(
          "slot={} is no failover slot and cannot be made one ({}): run psql with replication=database in its connection string and in it ALTER_REPLICATION_SLOT {} ( FAILOVER true )",
          config.slotName(),
          e.getMessage(),
          config.slotName());
    }
  }

  /** Refuses the setting where PostgreSQL is too old for it. */
  static void requireFailoverSupport(Connection connection, RelayConfig config)
      throws SQLException {
    int version = connection.getMetaData().getDatabaseMajorVersion();
    if (config.slotFailover() && version < FAILOVER_SINCE) {
      throw StartupCheck.refused(
          "PAYRELAY_RELAY_SLOT_FAILOVER is true, which PostgreSQL can do from version 17 on, and this is version %d: set it to false"
              .formatted(version));
    }
  }
}
