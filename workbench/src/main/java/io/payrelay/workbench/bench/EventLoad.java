package io.payrelay.workbench.bench;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/** Fills a table with events before they are drained. Stateless. */
final class EventLoad {

  /** As many sessions write at once: their transactions lie interleaved in the WAL. */
  private static final int SESSIONS = 2;

  private EventLoad() {}

  /** Writes the numbers from {@code first} on, in transactions of that many rows. */
  static void fill(
      BenchServers servers, EventTable table, long first, long count, int rowsPerTransaction) {
    List<CompletableFuture<Void>> sessions = new ArrayList<>();
    for (int i = 0; i < SESSIONS; i++) {
      long from = first + count * i / SESSIONS;
      long to = first + count * (i + 1) / SESSIONS - 1;
      sessions.add(
          CompletableFuture.runAsync(
              () -> fillRange(servers, table, from, to, rowsPerTransaction),
              task -> new Thread(task, "bench-load").start()));
    }
    try {
      CompletableFuture.allOf(sessions.toArray(CompletableFuture<?>[]::new)).join();
    } catch (CompletionException e) {
      throw e.getCause() instanceof RuntimeException cause ? cause : e;
    }
  }

  /** On the server: a statement from here for each row would take longer than the drain. */
  private static void fillRange(
      BenchServers servers, EventTable table, long from, long to, int rowsPerTransaction) {
    String loop =
        """
        DO $load$
        DECLARE first bigint := %d;
        BEGIN
          WHILE first <= %d LOOP
            %s;
            COMMIT;
            first := first + %d;
          END LOOP;
        END
        $load$"""
            .formatted(
                from,
                to,
                table.insertRange(
                    "first", "least(first + %d, %d)".formatted(rowsPerTransaction - 1, to)),
                rowsPerTransaction);
    try (Connection connection = servers.connect();
        Statement statement = connection.createStatement()) {
      // What is lost in a crash of the server would be noticed: the rows are counted.
      statement.execute("SET synchronous_commit = off");
      statement.execute(loop);
    } catch (SQLException e) {
      throw new PayrelayException(Category.FATAL, "The rows to drain cannot be written", e);
    }
  }
}
