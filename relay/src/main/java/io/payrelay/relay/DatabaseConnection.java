package io.payrelay.relay;

import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.Failures;
import io.payrelay.platform.errors.PayrelayException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Properties;

/** Opens single connections that do not come from a pool: the lease names them. Stateless. */
final class DatabaseConnection {

  private DatabaseConnection() {}

  /**
   * Opens one.
   *
   * @param answerLimit a server that answers a statement no sooner counts as gone
   * @throws PayrelayException FATAL where the credentials are refused, else RETRIABLE
   */
  static Connection open(DatabaseConfig config, String applicationName, Duration answerLimit) {
    Properties properties = properties(config, applicationName);
    properties.setProperty("socketTimeout", Long.toString(Math.max(1, answerLimit.toSeconds())));
    return connect(config, properties);
  }

  /**
   * Opens one that takes the commands of the replication protocol, of this database.
   *
   * @param answerLimit zero: none, since making a slot waits for each open transaction
   */
  static Connection openReplication(
      DatabaseConfig config, String applicationName, Duration answerLimit) {
    Properties properties = properties(config, applicationName);
    properties.setProperty("replication", "database");
    // It takes no other form of query, and no question about the version.
    properties.setProperty("preferQueryMode", "simple");
    properties.setProperty("assumeMinServerVersion", "15");
    if (!answerLimit.isZero()) {
      properties.setProperty("socketTimeout", Long.toString(Math.max(1, answerLimit.toSeconds())));
    }
    return connect(config, properties);
  }

  private static Properties properties(DatabaseConfig config, String applicationName) {
    Properties properties = new Properties();
    properties.setProperty("user", config.user());
    if (!config.password().reveal().isEmpty()) {
      properties.setProperty("password", config.password().reveal());
    }
    properties.setProperty("ApplicationName", applicationName);
    properties.setProperty("tcpKeepAlive", "true");
    String connectLimitS = Long.toString(Math.max(1, config.connectTimeout().toSeconds()));
    properties.setProperty("connectTimeout", connectLimitS);
    properties.setProperty("loginTimeout", connectLimitS);
    return properties;
  }

  private static Connection connect(DatabaseConfig config, Properties properties) {
    try {
      return DriverManager.getConnection(config.url(), properties);
    } catch (SQLException e) {
      String state = Failures.sqlState(e);
      boolean refused = state != null && (state.startsWith("28") || state.startsWith("3D"));
      throw new PayrelayException(
          refused ? Category.FATAL : Category.RETRIABLE,
          "No connection to the database (SQLSTATE %s): check PAYRELAY_DATABASE_URL, PAYRELAY_DATABASE_USER and PAYRELAY_DATABASE_PASSWORD, and that the server runs"
              .formatted(state),
          e);
    }
  }
}
