package io.payrelay.relay;

/**
 * How far the outbox is in Kafka: all of each transaction that ended at or before {@code
 * commitLsn}, and of transaction {@code txId} after it the first {@code rowsOfTx} rows. Immutable.
 *
 * @param commitTimeUsec when the last transaction seen at or before commitLsn committed, in
 *     microseconds since 1970; 0: not known
 * @param txId 0: no transaction is open
 * @param lastRowLsn where the last of those rows lies in the WAL; 0: without rows, or not known
 */
record Position(
    long commitLsn,
    long commitTimeUsec,
    long txId,
    long rowsOfTx,
    long lastRowLsn,
    DatabaseIdentity origin) {

  Position {
    if (commitLsn <= 0 || txId < 0 || rowsOfTx < 0 || (txId == 0 && rowsOfTx != 0)) {
      throw new IllegalArgumentException("impossible position at " + Lsn.text(commitLsn));
    }
  }

  /** Where nobody knows the place of the last row: then no other timeline is taken for certain. */
  Position(long commitLsn, long commitTimeUsec, long txId, long rowsOfTx, DatabaseIdentity origin) {
    this(commitLsn, commitTimeUsec, txId, rowsOfTx, 0, origin);
  }

  /**
   * The same place, as of what database and cluster are now. Another timeline may give the number
   * of an open transaction to another one; without rows of it, it is of no use anyway.
   */
  Position of(DatabaseIdentity now) {
    boolean forget = rowsOfTx == 0 && now.timeline() != origin.timeline();
    return new Position(commitLsn, commitTimeUsec, forget ? 0 : txId, rowsOfTx, lastRowLsn, now);
  }

  /** Nothing after that place is in Kafka yet. */
  static Position at(long commitLsn, DatabaseIdentity origin) {
    return new Position(commitLsn, 0, 0, 0, 0, origin);
  }

  @Override
  public String toString() {
    return Lsn.text(commitLsn) + (txId == 0 ? "" : " + " + rowsOfTx + " rows of " + txId);
  }
}
