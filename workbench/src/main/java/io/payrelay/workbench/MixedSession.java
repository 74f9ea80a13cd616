package io.payrelay.workbench;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/** One session of the load: transactions of every shape, in turn by chance. For one thread. */
final class MixedSession {

  private static final int SHAPES = 100;
  private static final int ROWS_MAX = 40;
  private static final int COPY_ROWS = 50;
  private static final int PADDING_MAX = 2_000;
  private static final long PAUSE_MAX_MS = 400;
  private static final long OPEN_PAUSE_MAX_MS = 300;

  /** A day without a partition, and young enough that the upkeep leaves its rows in the outbox. */
  private static final int FAR_DAYS = -5;

  private final OutboxLoad load;
  private final SplittableRandom random;
  private final OutboxWriter writer;

  MixedSession(OutboxLoad load, int stream, SplittableRandom random) {
    this.load = load;
    this.random = random;
    this.writer = new OutboxWriter(stream, "s" + stream);
  }

  void transaction(Connection connection) throws SQLException, InterruptedException {
    int shape = random.nextInt(SHAPES);
    if (shape < 25) {
      insert(connection, 1);
      load.commit(connection);
    } else if (shape < 45) {
      insert(connection, rows());
      load.commit(connection);
    } else if (shape < 55) {
      insert(connection, rows());
      load.rollback(connection);
    } else if (shape < 70) {
      savepoints(connection);
    } else if (shape < 77) {
      copy(connection);
    } else if (shape < 85) {
      longOpen(connection);
    } else if (shape < 95) {
      shared(connection);
    } else {
      poison(connection);
    }
    load.pause(random.nextLong(PAUSE_MAX_MS));
  }

  /** What was rolled back to a savepoint must not come; what was released must. */
  private void savepoints(Connection connection) throws SQLException {
    insert(connection, rows());
    for (int i = 0; i < 3; i++) {
      Savepoint savepoint = connection.setSavepoint();
      insert(connection, 1 + random.nextInt(5));
      if (random.nextBoolean()) {
        connection.rollback(savepoint);
      } else {
        connection.releaseSavepoint(savepoint);
      }
    }
    insert(connection, 1);
    load.commit(connection);
  }

  private void copy(Connection connection) throws SQLException {
    List<OutboxWriter.Row> rows = new ArrayList<>();
    for (int i = 0; i < COPY_ROWS; i++) {
      rows.add(writer.charge(random.nextInt(OutboxWriter.AGGREGATES), 0));
    }
    writer.copy(connection, rows);
    insert(connection, 2);
    load.commit(connection);
  }

  /** Its rows lie between those of others in the WAL. */
  private void longOpen(Connection connection) throws SQLException, InterruptedException {
    int steps = 2 + random.nextInt(5);
    for (int i = 0; i < steps; i++) {
      insert(connection, 1 + random.nextInt(5));
      load.pause(random.nextLong(OPEN_PAUSE_MAX_MS));
    }
    if (random.nextInt(5) == 0) {
      load.rollback(connection);
    } else {
      load.commit(connection);
    }
  }

  private void shared(Connection connection) throws SQLException {
    int aggregate = random.nextInt(SharedAggregates.COUNT);
    writer.insert(
        connection, SharedAggregates.rows(connection, aggregate, 1 + random.nextInt(10)), 0);
    insert(connection, 1);
    if (random.nextInt(6) == 0) {
      load.rollback(connection);
    } else {
      load.commit(connection);
    }
  }

  private void poison(Connection connection) throws SQLException {
    insert(connection, 2);
    writer.insert(connection, List.of(writer.poison(random.nextInt(OutboxWriter.AGGREGATES))), 0);
    insert(connection, 2);
    load.commit(connection);
  }

  /** Of several aggregates, both types, and mostly today's partition. */
  private void insert(Connection connection, int count) throws SQLException {
    List<OutboxWriter.Row> rows = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      int aggregate = random.nextInt(OutboxWriter.AGGREGATES);
      rows.add(
          random.nextInt(3) == 0
              ? writer.status(aggregate)
              : writer.charge(aggregate, random.nextInt(PADDING_MAX)));
    }
    int[] days = {0, 0, 0, 0, 1, FAR_DAYS};
    writer.insert(connection, rows, days[random.nextInt(days.length)]);
  }

  private int rows() {
    return 2 + random.nextInt(ROWS_MAX - 1);
  }
}
