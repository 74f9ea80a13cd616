package io.payrelay.schemas;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import javax.sql.DataSource;
import org.flywaydb.core.Flyway;
import org.jspecify.annotations.Nullable;

/** The database schema: brings it up to date, and tells whether it is. Stateless. */
public final class Migrations {

  public static final String SCHEMA = "payrelay";

  /** Version of the newest migration; a test holds it to the files. */
  public static final String LATEST = "0020";

  private static final String HISTORY_TABLE = "schema_history";

  private Migrations() {}

  /**
   * Applies what is missing, as the user of the data source, who then owns everything, and writes
   * the event types.
   *
   * @return how many migrations were applied
   * @throws SQLException where the last grants or the event types cannot be written
   */
  public static int migrate(DataSource dataSource, EventCatalogue catalogue) throws SQLException {
    int applied = flyway(dataSource).migrate().migrationsExecuted;
    try (Connection connection = dataSource.getConnection()) {
      connection.setAutoCommit(false);
      try (Statement statement = connection.createStatement()) {
        // Each process checks at its start that the schema is the one it was built for.
        statement.execute(
            """
            GRANT SELECT ON payrelay.schema_history
              TO payrelay_relay, payrelay_worker, payrelay_ingest, payrelay_operator
            """);
      }
      writeEventTypes(connection, catalogue);
      connection.commit();
    }
    return applied;
  }

  /**
   * Says what is wrong with the schema's version, or null where it is the one of this build.
   *
   * @throws SQLException where the history cannot be read
   */
  public static @Nullable String problem(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet exists =
            statement.executeQuery("SELECT to_regclass('payrelay.schema_history') IS NOT NULL")) {
      exists.next();
      if (!exists.getBoolean(1)) {
        return "The database has no Payrelay schema: run `payrelay migrate` first";
      }
    }
    try (Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery(
                """
                SELECT version FROM payrelay.schema_history
                WHERE success AND version IS NOT NULL ORDER BY installed_rank DESC LIMIT 1
                """)) {
      String found = rows.next() ? rows.getString(1) : "none";
      if (found.equals(LATEST)) {
        return null;
      }
      return "The database schema has version %s, this build needs %s: run `payrelay migrate` of this build"
          .formatted(found, LATEST);
    }
  }

  private static void writeEventTypes(Connection connection, EventCatalogue catalogue)
      throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(
            """
            INSERT INTO payrelay.event_type (event_type, topic, upstream) VALUES (?, ?, ?)
            ON CONFLICT (event_type) DO UPDATE SET topic = excluded.topic, upstream = excluded.upstream
            """)) {
      for (EventType type : catalogue.all()) {
        statement.setString(1, type.name());
        statement.setString(2, type.topic());
        statement.setBoolean(3, type.upstream());
        statement.addBatch();
      }
      statement.executeBatch();
    }
  }

  private static Flyway flyway(DataSource dataSource) {
    return Flyway.configure()
        .dataSource(dataSource)
        .schemas(SCHEMA)
        .defaultSchema(SCHEMA)
        .table(HISTORY_TABLE)
        .locations("classpath:db/migration")
        .validateMigrationNaming(true)
        .load();
  }
}
