package io.payrelay.webhook;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.util.component.AbstractLifeCycle;
import org.eclipse.jetty.util.thread.ScheduledExecutorScheduler;
import org.eclipse.jetty.util.thread.Scheduler;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps connections that do nothing from being all there are. One that has shown no whole request
 * head for too long is closed: the server's idle timeout begins anew with each byte, so a sender of
 * one header byte a second would keep its connection for ever. And where there are too many, those
 * that have kept us waiting longest make room for the new one: it may be a provider's. Safe for any
 * thread.
 */
final class ConnectionGuard extends AbstractLifeCycle implements Connection.Listener {

  private static final Logger log = LoggerFactory.getLogger(ConnectionGuard.class);

  private static final long SWEEPS_PER_LIMIT = 4;

  /** Looking for the oldest costs a look at all: so a part of them goes at once. */
  private static final int EVICTED_PART = 20;

  private final Scheduler scheduler = new ScheduledExecutorScheduler("webhook-guard", true);
  private final Duration limit;
  private final int connectionsMax;
  private final IngestMetrics metrics;
  private final Map<Connection, Lease> leases = new ConcurrentHashMap<>();
  private final ReentrantLock evicting = new ReentrantLock();

  /** Without those that are being closed: the server tells of their end later. */
  private final AtomicInteger live = new AtomicInteger();

  /** What a connection does, and since when. The body's own deadline is the body gate's. */
  static final class Lease {
    private volatile State state = State.IDLE;
    private volatile long sinceNs = System.nanoTime();
    private volatile long bytesBefore;
    private final AtomicBoolean counted = new AtomicBoolean(true);
    private final Connection connection;

    private Lease(Connection connection) {
      this.connection = connection;
    }

    /** The body is there. */
    void work() {
      state = State.WORKING;
    }

    void end() {
      bytesBefore = connection.getBytesIn();
      sinceNs = System.nanoTime();
      state = State.IDLE;
    }

    /** A part of a head came, and not only nothing since the last request. */
    private boolean isHalfHead() {
      return connection.getBytesIn() > bytesBefore;
    }
  }

  private enum State {
    /** No request, or a part of its head. */
    IDLE,
    /** The head was read, the body trickles in. */
    READING,
    /** Ours to finish. */
    WORKING
  }

  private record Waiting(Connection connection, Lease lease, long sinceNs) {}

  ConnectionGuard(Duration limit, int connectionsMax, IngestMetrics metrics) {
    this.limit = limit;
    this.connectionsMax = connectionsMax;
    this.metrics = metrics;
  }

  /** A request's head is complete. */
  Lease begin(Connection connection) {
    Lease lease = leases.getOrDefault(connection, new Lease(connection));
    lease.state = State.READING;
    return lease;
  }

  @Override
  public void onOpened(Connection connection) {
    leases.put(connection, new Lease(connection));
    live.incrementAndGet();
    makeRoom();
  }

  @Override
  public void onClosed(Connection connection) {
    Lease lease = leases.remove(connection);
    if (lease != null) {
      gone(lease);
    }
  }

  private boolean gone(Lease lease) {
    boolean first = lease.counted.compareAndSet(true, false);
    if (first) {
      live.decrementAndGet();
    }
    return first;
  }

  /**
   * Whoever makes room looks again afterwards: those that came meanwhile left it to him, and where
   * they were as many as the server takes at all, nobody else would come.
   */
  private void makeRoom() {
    boolean closed = true;
    while (closed && live.get() > connectionsMax && evicting.tryLock()) {
      try {
        closed = evict() > 0;
      } finally {
        evicting.unlock();
      }
    }
  }

  @Override
  protected void doStart() throws Exception {
    scheduler.start();
    super.doStart();
    next();
  }

  @Override
  protected void doStop() throws Exception {
    super.doStop();
    scheduler.stop();
  }

  private int evict() {
    List<Waiting> waiting = new ArrayList<>();
    leases.forEach(
        (connection, lease) -> {
          if (lease.state != State.WORKING && lease.counted.get()) {
            waiting.add(new Waiting(connection, lease, lease.sinceNs));
          }
        });
    long now = System.nanoTime();
    waiting.sort(Comparator.comparingLong((Waiting one) -> now - one.sinceNs()).reversed());
    int count = live.get() - connectionsMax + connectionsMax / EVICTED_PART;
    int closed = 0;
    for (Waiting one : waiting.subList(0, Math.max(0, Math.min(count, waiting.size())))) {
      if (gone(one.lease())) {
        metrics.refused(Reason.NOBODY, Reason.TOO_MANY_CONNECTIONS);
        closed += close(one.connection(), one.lease()) ? 1 : 0;
      }
    }
    return closed;
  }

  private void next() {
    long everyMs = Math.max(limit.toMillis() / SWEEPS_PER_LIMIT, 10);
    scheduler.schedule(this::sweep, everyMs, TimeUnit.MILLISECONDS);
  }

  private boolean close(Connection connection, Lease lease) {
    try {
      connection.close();
      return true;
    } catch (RuntimeException e) {
      log.warn("webhook_connection_not_closed, tried again later", e);
      lease.end();
      leases.computeIfPresent(
          connection,
          (open, known) -> {
            if (known.counted.compareAndSet(false, true)) {
              live.incrementAndGet();
            }
            return known;
          });
      return false;
    }
  }

  private void sweep() {
    long now = System.nanoTime();
    try {
      leases.forEach(
          (connection, lease) -> {
            if (lease.state == State.IDLE && now - lease.sinceNs > limit.toNanos()) {
              if (lease.isHalfHead()) {
                metrics.refused(Reason.NOBODY, Reason.HEAD_TOO_SLOW);
              }
              gone(lease);
              close(connection, lease);
            }
          });
      makeRoom();
    } finally {
      // Nothing that fails may end all sweeping.
      if (isStarting() || isStarted()) {
        next();
      }
    }
  }
}
