package io.payrelay.relay;

import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.errors.PayrelayException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps the outbox's daily partitions ahead of time. On a thread of its own, because it may wait
 * for locks; a failure is an alarm and not a stop, since rows then go to the DEFAULT partition.
 */
final class OutboxUpkeep implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(OutboxUpkeep.class);

  private static final long INTERVAL_NS = TimeUnit.HOURS.toNanos(1);
  private static final long RETRY_NS = TimeUnit.MINUTES.toNanos(1);
  private static final Duration LIMIT = Duration.ofSeconds(60);

  private final DatabaseConfig database;
  private final RelayMetrics metrics;
  private final ExecutorService executor =
      Executors.newSingleThreadExecutor(task -> new Thread(task, "payrelay-outbox-upkeep"));
  private volatile long nextNs = System.nanoTime();

  OutboxUpkeep(DatabaseConfig database, RelayMetrics metrics) {
    this.database = database;
    this.metrics = metrics;
  }

  /** Starts a round where one is due. */
  void tick() {
    if (System.nanoTime() - nextNs >= 0) {
      nextNs = System.nanoTime() + INTERVAL_NS;
      executor.execute(this::round);
    }
  }

  private void round() {
    try (Connection connection =
            DatabaseConnection.open(database, "payrelay-outbox-upkeep", LIMIT);
        Statement statement = connection.createStatement()) {
      statement.execute("SELECT payrelay.create_outbox_partitions()");
    } catch (SQLException | PayrelayException e) {
      metrics.upkeepFailed();
      nextNs = System.nanoTime() + RETRY_NS;
      log.warn("outbox partitions could not be made ahead of time: trying again in a minute", e);
    }
  }

  @Override
  public void close() {
    executor.shutdownNow();
  }
}
