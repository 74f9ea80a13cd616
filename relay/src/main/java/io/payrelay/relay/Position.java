package io.payrelay.relay;

/**
 * How far the outbox is in Kafka: all of each transaction that ended at or before {@code
 * commitLsn}, and of transaction {@code txId} after it the first {@code rowsOfTx} rows. Immutable.
 *
 * @param commitTimeUsec when the last transaction seen at or before commitLsn committed, in
 *     microseconds since 1970; 0: not known
 * @param txId 0: no transaction is open
 */
record Position(
    long commitLsn, long commitTimeUsec, long txId, long rowsOfTx, DatabaseIdentity origin) {

  Position {
    if (commitLsn <= 0 || txId < 0 || rowsOfTx < 0 || (txId == 0 && rowsOfTx != 0)) {
      throw new IllegalArgumentException("impossible position at " + Lsn.text(commitLsn));
    }
  }

  /** Nothing after that place is in Kafka yet. */
  static Position at(long commitLsn, DatabaseIdentity origin) {
    return new Position(commitLsn, 0, 0, 0, origin);
  }

  @Override
  public String toString() {
    return Lsn.text(commitLsn) + (txId == 0 ? "" : " + " + rowsOfTx + " rows of " + txId);
  }
}
