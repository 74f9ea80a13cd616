package io.payrelay.chargeworker;

import org.jdbi.v3.core.Jdbi;

/**
 * Tells whether somebody has locked one of our tables as a whole, or waits to, as a migration does:
 * whoever writes waits then, for whatever payment. Safe for any thread.
 */
final class TableLocks {

  private final Jdbi jdbi;

  TableLocks(Jdbi jdbi) {
    this.jdbi = jdbi;
  }

  /** Is there one that lets nobody write? It waits for no lock itself. */
  boolean any() {
    // Also one that is not granted yet: all others queue behind it.
    return jdbi.withHandle(
        handle ->
            handle
                .createQuery(
                    """
                    SELECT EXISTS (
                      SELECT FROM pg_locks l JOIN pg_class c ON c.oid = l.relation
                        JOIN pg_namespace n ON n.oid = c.relnamespace
                      WHERE l.locktype = 'relation' AND n.nspname = 'payrelay'
                        AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
                        AND l.mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'))
                    """)
                .mapTo(Boolean.class)
                .one());
  }
}
