package io.payrelay.workbench.bench;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Writes one event a transaction at the times of a schedule that waits for nothing: a slow commit
 * does not put off the events after it. The times are read after {@link #join}, except by whoever
 * was told that an event is visible.
 */
final class OpenLoopWriters {

  private static final int SESSIONS = 8;

  private final BenchServers servers;
  private final EventTable table;
  private final long first;
  private final int count;
  private final double intervalNs;
  private final long startNs;
  private final AtomicInteger next = new AtomicInteger();
  private final long[] begunNs;
  private final long[] committingNs;
  private final long[] committedNs;
  private final CompletableFuture<Void> done;

  private OpenLoopWriters(
      BenchServers servers, EventTable table, long first, int count, double ratePerS) {
    this.servers = servers;
    this.table = table;
    this.first = first;
    this.count = count;
    this.intervalNs = TimeUnit.SECONDS.toNanos(1) / ratePerS;
    this.begunNs = new long[count];
    this.committingNs = new long[count];
    this.committedNs = new long[count];
    this.startNs = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(500);
    List<CompletableFuture<Void>> sessions = new ArrayList<>();
    for (int i = 0; i < SESSIONS; i++) {
      sessions.add(
          CompletableFuture.runAsync(
              this::write, task -> new Thread(task, "bench-writer").start()));
    }
    this.done = CompletableFuture.allOf(sessions.toArray(CompletableFuture<?>[]::new));
  }

  static OpenLoopWriters start(
      BenchServers servers, EventTable table, long first, int count, double ratePerS) {
    return new OpenLoopWriters(servers, table, first, count, ratePerS);
  }

  boolean ended() {
    return done.isDone();
  }

  /** Waits for the last commit. */
  void join() {
    try {
      done.join();
    } catch (CompletionException e) {
      throw e.getCause() instanceof RuntimeException cause ? cause : e;
    }
  }

  long scheduledNs(int place) {
    return startNs + (long) (place * intervalNs);
  }

  /** When its transaction began: later than scheduled where no session was free. */
  long begunNs(int place) {
    return begunNs[place];
  }

  /** Just before COMMIT was sent. */
  long committingNs(int place) {
    return committingNs[place];
  }

  /** When COMMIT had returned: from then on the writer may rely on it. */
  long committedNs(int place) {
    return committedNs[place];
  }

  private void write() {
    try (Connection connection = servers.connect();
        PreparedStatement insert = connection.prepareStatement(table.insertOne())) {
      connection.setAutoCommit(false);
      for (int place = next.getAndIncrement(); place < count; place = next.getAndIncrement()) {
        awaitNs(scheduledNs(place));
        begunNs[place] = System.nanoTime();
        insert.setLong(1, first + place);
        insert.executeUpdate();
        committingNs[place] = System.nanoTime();
        connection.commit();
        committedNs[place] = System.nanoTime();
      }
    } catch (SQLException e) {
      // The others end by themselves: there is nothing left for them.
      next.set(count);
      throw new PayrelayException(Category.FATAL, "An event cannot be written", e);
    }
  }

  private static void awaitNs(long atNs) {
    for (long left = atNs - System.nanoTime(); left > 0; left = atNs - System.nanoTime()) {
      LockSupport.parkNanos(left);
    }
  }
}
