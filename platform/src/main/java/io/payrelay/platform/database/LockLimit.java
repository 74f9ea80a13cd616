package io.payrelay.platform.database;

import java.time.Duration;
import org.jdbi.v3.core.Handle;

/**
 * Bounds how long a transaction waits for any one lock: beyond it fails with SQLSTATE 55P03.
 * Stateless, safe for any thread.
 */
public final class LockLimit {

  private LockLimit() {}

  /** Holds until the transaction ends. */
  public static void set(Handle tx, Duration limit) {
    tx.execute("SELECT set_config('lock_timeout', ?, true)", limit.toMillis() + "ms");
  }
}
