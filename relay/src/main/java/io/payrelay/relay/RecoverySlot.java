package io.payrelay.relay;

import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.errors.Failures;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;

/**
 * A new slot together with a connection that sees exactly what was committed before the slot's
 * start: what one does not show, the other delivers. Belongs to one thread.
 */
final class RecoverySlot implements AutoCloseable {

  private final Connection replication;
  private final Connection snapshot;
  private final long startLsn;

  private RecoverySlot(Connection replication, Connection snapshot, long startLsn) {
    this.replication = replication;
    this.snapshot = snapshot;
    this.startLsn = startLsn;
  }

  /** Makes the slot; waits for the end of each transaction that is open now. */
  static RecoverySlot make(DatabaseConfig database, String slotName) throws SQLException {
    Connection replication =
        DatabaseConnection.openReplication(database, "payrelay-recover-slot", Duration.ZERO);
    try (Statement statement = replication.createStatement();
        ResultSet made = statement.executeQuery(command(slotName))) {
      made.next();
      long startLsn = Lsn.parse(made.getString("consistent_point"));
      Connection snapshot =
          DatabaseConnection.open(database, "payrelay-recover", RelayRecovery.ANSWER_LIMIT);
      try {
        // The exported snapshot lives until the replication connection's next command.
        OutboxReader.begin(snapshot, made.getString("snapshot_name"));
      } catch (SQLException | RuntimeException e) {
        snapshot.close();
        throw e;
      }
      return new RecoverySlot(replication, snapshot, startLsn);
    } catch (SQLException | RuntimeException e) {
      replication.close();
      if ("53400".equals(Failures.sqlState(e))) {
        throw StartupCheck.refused(
            "PostgreSQL has no free replication slot or walsender: raise max_replication_slots or drop a slot that nobody needs, then run `payrelay relay recover --execute` again");
      }
      throw e;
    }
  }

  /** Drops a slot if it is there. */
  static void drop(Connection connection, String slotName) throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(
            "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = ?")) {
      statement.setString(1, slotName);
      statement.execute();
    }
  }

  /** Sees what was committed before the slot's start. */
  Connection snapshot() {
    return snapshot;
  }

  /** Where the slot begins to deliver. */
  long startLsn() {
    return startLsn;
  }

  /** The name is an identifier by its setting's own check. */
  private static String command(String slotName) {
    return "CREATE_REPLICATION_SLOT \"" + slotName + "\" LOGICAL pgoutput (SNAPSHOT 'export')";
  }

  /** The slot stays. */
  @Override
  public void close() throws SQLException {
    try (replication;
        snapshot) {
      snapshot.rollback();
    }
  }
}
