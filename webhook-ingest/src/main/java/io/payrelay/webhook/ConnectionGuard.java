package io.payrelay.webhook;

import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.eclipse.jetty.io.Connection;
import org.eclipse.jetty.util.component.AbstractLifeCycle;
import org.eclipse.jetty.util.thread.ScheduledExecutorScheduler;
import org.eclipse.jetty.util.thread.Scheduler;

/**
 * Closes connections that have shown no whole request head for too long. The server's idle timeout
 * begins anew with each byte, so a sender of one header byte a second would keep its connection for
 * ever. Safe for any thread.
 */
final class ConnectionGuard extends AbstractLifeCycle implements Connection.Listener {

  private static final long SWEEPS_PER_LIMIT = 4;

  private final Scheduler scheduler = new ScheduledExecutorScheduler("webhook-guard", true);
  private final Duration limit;
  private final Map<Connection, Lease> leases = new ConcurrentHashMap<>();

  /** Whether a connection is at work, or since when it is not. */
  static final class Lease {
    private volatile boolean working;
    private volatile long idleSinceNs = System.nanoTime();

    void end() {
      idleSinceNs = System.nanoTime();
      working = false;
    }
  }

  ConnectionGuard(Duration limit) {
    this.limit = limit;
  }

  /** A request's head is complete. */
  Lease begin(Connection connection) {
    Lease lease = leases.getOrDefault(connection, new Lease());
    lease.working = true;
    return lease;
  }

  @Override
  public void onOpened(Connection connection) {
    leases.put(connection, new Lease());
  }

  @Override
  public void onClosed(Connection connection) {
    leases.remove(connection);
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

  private void next() {
    long everyMs = Math.max(limit.toMillis() / SWEEPS_PER_LIMIT, 10);
    scheduler.schedule(this::sweep, everyMs, TimeUnit.MILLISECONDS);
  }

  private void sweep() {
    long now = System.nanoTime();
    leases.forEach(
        (connection, lease) -> {
          if (!lease.working && now - lease.idleSinceNs > limit.toNanos()) {
            connection.close();
          }
        });
    if (isStarting() || isStarted()) {
      next();
    }
  }
}
