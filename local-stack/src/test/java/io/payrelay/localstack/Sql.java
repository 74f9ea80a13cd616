package io.payrelay.localstack;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** One statement on a connection of its own. */
final class Sql {
  private Sql() {}

  static void run(String jdbcUrl, String sql) throws SQLException {
    try (Connection connection = connect(jdbcUrl);
        Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  static String value(String jdbcUrl, String sql) throws SQLException {
    try (Connection connection = connect(jdbcUrl);
        Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery(sql)) {
      result.next();
      return result.getString(1);
    }
  }

  private static Connection connect(String jdbcUrl) throws SQLException {
    return DriverManager.getConnection(jdbcUrl, "payrelay", "payrelay");
  }
}
