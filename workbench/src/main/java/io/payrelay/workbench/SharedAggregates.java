package io.payrelay.workbench;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/**
 * Aggregates that several sessions write. A row in a table of its own, locked until the commit,
 * hands out the numbers, as a real aggregate's version would: so they grow in the order of the
 * commits. Stateless.
 */
final class SharedAggregates {

  static final int COUNT = 3;

  private static final long STREAM = 200;

  private SharedAggregates() {}

  /** Makes the table. */
  static void create(String jdbcUrl, String user) {
    try (Connection connection = DriverManager.getConnection(jdbcUrl, user, "");
        Statement statement = connection.createStatement()) {
      statement.execute(
          "CREATE TABLE IF NOT EXISTS public.chaos_aggregate (id integer PRIMARY KEY, number bigint NOT NULL)");
      statement.execute(
          "INSERT INTO public.chaos_aggregate SELECT n, 0 FROM generate_series(0, %d) n ON CONFLICT DO NOTHING"
              .formatted(COUNT - 1));
    } catch (SQLException e) {
      throw new PayrelayException(
          Category.FATAL, "The load's table cannot be made: " + e.getMessage(), e);
    }
  }

  /** Takes the next numbers of an aggregate in the running transaction. */
  static List<OutboxWriter.Row> rows(Connection connection, int aggregate, int count)
      throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(
            "UPDATE public.chaos_aggregate SET number = number + ? WHERE id = ? RETURNING number")) {
      statement.setInt(1, count);
      statement.setInt(2, aggregate);
      try (ResultSet result = statement.executeQuery()) {
        result.next();
        long last = result.getLong(1);
        List<OutboxWriter.Row> rows = new ArrayList<>();
        for (long number = last - count + 1; number <= last; number++) {
          rows.add(OutboxWriter.charge(STREAM + aggregate, number, "shared-" + aggregate, 0));
        }
        return rows;
      }
    }
  }
}
