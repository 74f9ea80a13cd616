package io.payrelay.relay;

import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;

/**
 * Commands that a server takes on replication connections only, each on a connection of its own.
 * Stateless.
 */
final class ReplicationCommands {

  private static final Duration LIMIT = Duration.ofSeconds(30);

  private ReplicationCommands() {}

  /**
   * How the server came to its timeline.
   *
   * @throws PayrelayException FATAL where the server has the history no longer
   */
  static TimelineHistory timelineHistory(DatabaseConfig database, long timeline) {
    if (timeline == 1) {
      // The first one came from nowhere, and has no file.
      return new TimelineHistory(1, List.of());
    }
    try (Connection connection = open(database);
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("TIMELINE_HISTORY " + timeline)) {
      rows.next();
      return TimelineHistory.parse(timeline, rows.getString(2));
    } catch (SQLException | IllegalArgumentException e) {
      if (e instanceof SQLException failed && !hasNoFile(failed)) {
        throw StartupCheck.failed("The timeline's history could not be read", failed);
      }
      throw new PayrelayException(
          Category.FATAL,
          "PostgreSQL cannot show the history of its timeline %d (pg_wal/%08X.history): bring the file back from the archive, or run `payrelay relay recover`"
              .formatted(timeline, timeline),
          e);
    }
  }

  /** Has the standbys keep that slot too; nobody may be streaming from it. */
  static void enableFailover(DatabaseConfig database, String slotName) throws SQLException {
    try (Connection connection = open(database);
        Statement statement = connection.createStatement()) {
      statement.execute("ALTER_REPLICATION_SLOT %s ( FAILOVER true )".formatted(slotName));
    }
  }

  private static Connection open(DatabaseConfig database) {
    return DatabaseConnection.openReplication(database, "payrelay-relay-command", LIMIT);
  }

  /** 58P01, undefined_file: the archive may have it. */
  private static boolean hasNoFile(SQLException failure) {
    return "58P01".equals(failure.getSQLState());
  }
}
