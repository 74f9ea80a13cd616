package io.payrelay.relay;

import org.postgresql.replication.LogSequenceNumber;

/** Text form of positions in the WAL. Stateless. */
final class Lsn {

  private Lsn() {}

  /** As PostgreSQL writes it, such as {@code 0/16B3748}. */
  static String text(long lsn) {
    return LogSequenceNumber.valueOf(lsn).asString();
  }

  /** The number of PostgreSQL's text form. */
  static long parse(String text) {
    return LogSequenceNumber.valueOf(text).asLong();
  }
}
