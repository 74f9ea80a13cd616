package io.payrelay.schemas;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.payrelay.localstack.TestDatabase;
import io.payrelay.localstack.TestInfra;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.postgresql.ds.PGSimpleDataSource;
import org.postgresql.util.PSQLException;

/** A database with all migrations, and logins that hold one of Payrelay's roles each. */
final class MigratedDatabase {

  private final TestDatabase database = TestInfra.shared().newDatabase();

  /** With all migrations, open for upstreams. */
  static MigratedDatabase open() throws SQLException {
    MigratedDatabase opened = closed();
    try (Connection owner = opened.owner()) {
      run(owner, "SELECT payrelay.open_for_upstreams()");
    }
    return opened;
  }

  /** With all migrations, before migrate has opened it. */
  static MigratedDatabase closed() throws SQLException {
    MigratedDatabase opened = new MigratedDatabase();
    Migrations.migrate(opened.dataSource(), EventCatalogue.builtIn());
    try (Connection owner = opened.owner()) {
      for (String role : List.of("upstream", "relay", "worker", "ingest", "operator")) {
        run(
            owner,
            "CREATE USER %s LOGIN PASSWORD 'secret' IN ROLE payrelay_%s"
                .formatted(opened.userOf(role), role));
      }
    }
    return opened;
  }

  PGSimpleDataSource dataSource() {
    PGSimpleDataSource dataSource = new PGSimpleDataSource();
    dataSource.setUrl(database.jdbcUrl());
    dataSource.setUser(database.user());
    dataSource.setPassword(database.password());
    return dataSource;
  }

  private String userOf(String role) {
    return role + "_" + database.name();
  }

  /** As the owner of everything, who is a superuser. */
  Connection owner() throws SQLException {
    return dataSource().getConnection();
  }

  /** As a login that has payrelay_ROLE and nothing else. */
  Connection as(String role) throws SQLException {
    return DriverManager.getConnection(database.jdbcUrl(), userOf(role), "secret");
  }

  static void run(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  /** The rows, columns joined by a bar. */
  static List<String> rows(Connection connection, String sql) throws SQLException {
    List<String> rows = new ArrayList<>();
    try (Statement statement = connection.createStatement();
        ResultSet result = statement.executeQuery(sql)) {
      int columns = result.getMetaData().getColumnCount();
      while (result.next()) {
        List<String> row = new ArrayList<>();
        for (int i = 1; i <= columns; i++) {
          row.add(String.valueOf(result.getString(i)));
        }
        rows.add(String.join("|", row));
      }
    }
    return rows;
  }

  static String value(Connection connection, String sql) throws SQLException {
    return rows(connection, sql).get(0);
  }

  /** Fails unless the statement is refused with that SQLSTATE and a message that holds the text. */
  static PSQLException refused(Connection connection, String sql, String sqlState, String message) {
    Throwable failure = catchThrowable(() -> run(connection, sql));
    assertThat(failure)
        .as(sql)
        .isInstanceOfSatisfying(
            PSQLException.class,
            e -> assertThat(e.getSQLState()).as(e.getMessage()).isEqualTo(sqlState))
        .hasMessageContaining(message);
    return (PSQLException) failure;
  }
}
