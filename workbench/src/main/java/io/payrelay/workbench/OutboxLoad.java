package io.payrelay.workbench;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Sessions that write the outbox at the same time, with every shape of transaction that has broken
 * a relay. The low half of each event id grows along the events of an aggregate, so that a reader
 * can tell their order. Safe for any thread.
 */
final class OutboxLoad implements AutoCloseable {

  private static final int MIXED_SESSIONS = 3;

  private final CountDownLatch stopped = new CountDownLatch(1);
  private final AtomicReference<@Nullable Exception> failure = new AtomicReference<>();
  private final AtomicLong committed = new AtomicLong();
  private final AtomicLong rolledBack = new AtomicLong();
  private final AtomicLong published = new AtomicLong();
  private final List<Thread> threads = new ArrayList<>();
  private final String jdbcUrl;
  private final String user;

  private OutboxLoad(String jdbcUrl, String user) {
    this.jdbcUrl = jdbcUrl;
    this.user = user;
  }

  /** A session's work: one transaction. */
  private interface Work {
    void transaction(Connection connection) throws SQLException, InterruptedException;
  }

  /** Starts all sessions, as a user that may write any event type. */
  static OutboxLoad start(String jdbcUrl, String user, long seed) {
    OutboxLoad load = new OutboxLoad(jdbcUrl, user);
    SplittableRandom random = new SplittableRandom(seed);
    SharedAggregates.create(jdbcUrl, user);
    for (int i = 1; i <= MIXED_SESSIONS; i++) {
      MixedSession session = new MixedSession(load, i, random.split());
      load.session("load-mixed-" + i, session::transaction);
    }
    SteadySession steady = new SteadySession(load);
    load.session("load-steady", steady::transaction);
    HugeSession huge = new HugeSession(load, random.split());
    load.session("load-huge", huge::transaction);
    return load;
  }

  long committed() {
    return committed.get();
  }

  long rolledBack() {
    return rolledBack.get();
  }

  /** How many events have come out again: large transactions wait for them. */
  void published(long events) {
    published.set(events);
  }

  /** One transaction more. */
  void commit(Connection connection) throws SQLException {
    connection.commit();
    committed.incrementAndGet();
  }

  /** One transaction more that must leave no trace. */
  void rollback(Connection connection) throws SQLException {
    connection.rollback();
    rolledBack.incrementAndGet();
  }

  /** Waits that long, less where the load is stopped. */
  void pause(long ms) throws InterruptedException {
    // Either answer is right: the session looks by itself whether it goes on.
    boolean unused = stopped.await(ms, TimeUnit.MILLISECONDS);
  }

  /**
   * Ends the running transactions.
   *
   * @throws PayrelayException FATAL where a session has failed: the load was not what it should be
   */
  void stop() {
    close();
    Exception failed = failure.get();
    if (failed != null) {
      throw new PayrelayException(
          Category.FATAL, "The load has failed: " + failed.getMessage(), failed);
    }
  }

  @Override
  public void close() {
    stopped.countDown();
    try {
      for (Thread thread : threads) {
        thread.join();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private void session(String name, Work work) {
    Thread thread = new Thread(() -> run(work), name);
    thread.setDaemon(true);
    threads.add(thread);
    thread.start();
  }

  private void run(Work work) {
    try (Connection connection = DriverManager.getConnection(jdbcUrl, user, "")) {
      connection.setAutoCommit(false);
      while (stopped.getCount() > 0) {
        work.transaction(connection);
      }
    } catch (SQLException | RuntimeException e) {
      failure.compareAndSet(null, e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** A row each few milliseconds: what tells when a takeover is over. */
  private static final class SteadySession {

    private static final long STREAM = 100;
    private static final long PAUSE_MS = 50;

    private final OutboxLoad load;
    private final OutboxWriter writer = new OutboxWriter(STREAM, "steady");

    SteadySession(OutboxLoad load) {
      this.load = load;
    }

    void transaction(Connection connection) throws SQLException, InterruptedException {
      writer.insert(connection, List.of(writer.charge(0, 0)), 0);
      load.commit(connection);
      load.pause(PAUSE_MS);
    }
  }

  /** Now and then one transaction of thousands of rows. */
  private static final class HugeSession {

    private static final long STREAM = 101;
    private static final int ROWS_MIN = 1_000;
    private static final int ROWS_MAX = 10_000;

    /** More would only make a slow machine's backlog longer. */
    private static final long AHEAD_ROWS_MAX = 30_000;

    private static final long PAUSE_MIN_MS = 5_000;
    private static final long PAUSE_MAX_MS = 15_000;

    private final OutboxLoad load;
    private final SplittableRandom random;
    private long number;

    HugeSession(OutboxLoad load, SplittableRandom random) {
      this.load = load;
      this.random = random;
    }

    void transaction(Connection connection) throws SQLException, InterruptedException {
      load.pause(random.nextLong(PAUSE_MIN_MS, PAUSE_MAX_MS));
      if (number - load.published.get() > AHEAD_ROWS_MAX) {
        return;
      }
      int rows = random.nextInt(ROWS_MIN, ROWS_MAX);
      try (Statement statement = connection.createStatement()) {
        statement.execute(OutboxWriter.hugeInsert(STREAM, "huge", number, rows));
      }
      number += rows;
      load.commit(connection);
    }
  }
}
