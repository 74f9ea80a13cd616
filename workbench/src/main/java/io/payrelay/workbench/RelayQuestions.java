package io.payrelay.workbench;

import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.Jdbi;

/** What the database knows of a slot and its relays. Belongs to one thread. */
final class RelayQuestions implements AutoCloseable {

  private final Handle handle;
  private final String slotName;

  RelayQuestions(String jdbcUrl, String user, String slotName) {
    this.handle = Jdbi.open(jdbcUrl, user, "");
    this.slotName = slotName;
  }

  /** Who holds the lease now; empty: nobody. */
  String owner() {
    return handle
        .createQuery(
            "SELECT owner FROM payrelay.relay_owner WHERE slot_name = :slot AND lease_until > clock_timestamp()")
        .bind("slot", slotName)
        .mapTo(String.class)
        .findOne()
        .orElse("");
  }

  /** Whether somebody streams from the slot. */
  boolean hasWalsender() {
    return handle
        .createQuery("SELECT active FROM pg_replication_slots WHERE slot_name = :slot")
        .bind("slot", slotName)
        .mapTo(Boolean.class)
        .one();
  }

  /** Terminates the slot's walsender; false where there is none. */
  boolean endWalsender() {
    return handle
        .createQuery(
            "SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE slot_name = :slot AND active")
        .bind("slot", slotName)
        .mapTo(Boolean.class)
        .findOne()
        .orElse(false);
  }

  /** Where the WAL ends now. */
  String walEnd() {
    return handle.createQuery("SELECT pg_current_wal_lsn()::text").mapTo(String.class).one();
  }

  /** Whether the slot needs nothing before that place any more. */
  boolean confirmed(String lsn) {
    return handle
        .createQuery(
            "SELECT confirmed_flush_lsn >= :lsn::pg_lsn FROM pg_replication_slots WHERE slot_name = :slot")
        .bind("lsn", lsn)
        .bind("slot", slotName)
        .mapTo(Boolean.class)
        .one();
  }

  @Override
  public void close() {
    handle.close();
  }
}
