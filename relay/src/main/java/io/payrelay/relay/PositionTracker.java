package io.payrelay.relay;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import org.jspecify.annotations.Nullable;

/**
 * Turns what the engine delivers into the relay's position, and tells which rows Kafka has already.
 * Pure; belongs to one thread.
 *
 * <p>The {@code lsnCommit} that comes with a row is the end of the transaction <em>before</em> the
 * row's own. So a change of txId says that everything up to lsnCommit is complete. PostgreSQL sends
 * a transaction whole, always in the same order, and again from its first row after a restart:
 * hence a count of rows is enough to go on in the middle.
 */
final class PositionTracker {

  private final DatabaseIdentity origin;
  private long commitLsn;
  private long commitTimeUsec;
  private long txId;
  private long rowsOfTx;

  /** Rows of the open transaction that are in Kafka already and come again. */
  private long toDrop;

  private long lastLsn;

  /** As {@code lastLsn}, but of rows that are in Kafka, those of an earlier life included. */
  private long lastRowLsn;

  private long openTimeUsec;

  PositionTracker(Position start) {
    this.origin = start.origin();
    this.commitLsn = start.commitLsn();
    this.commitTimeUsec = start.commitTimeUsec();
    this.txId = start.txId();
    this.rowsOfTx = start.rowsOfTx();
    this.toDrop = start.rowsOfTx();
    this.lastRowLsn = start.lastRowLsn();
  }

  /**
   * A row.
   *
   * @return false where it is in Kafka already
   * @throws PayrelayException FATAL where the stream does not fit the position
   */
  boolean row(long rowTxId, long lsn, long lsnCommit, long timeUsec) {
    enter(rowTxId, lsnCommit, timeUsec);
    if (Long.compareUnsigned(lsn, lastLsn) < 0) {
      throw corrupt(
          "a row of it at %s came after one at %s".formatted(Lsn.text(lsn), Lsn.text(lastLsn)));
    }
    lastLsn = lsn;
    if (toDrop > 0) {
      toDrop--;
      return false;
    }
    rowsOfTx++;
    lastRowLsn = lsn;
    return true;
  }

  /** A message that somebody wrote into the WAL inside a transaction; it is no row. */
  void message(long messageTxId, long lsnCommit, long timeUsec) {
    enter(messageTxId, lsnCommit, timeUsec);
  }

  /** A heartbeat: after a COMMIT it says that nothing is open. */
  void heartbeat(@Nullable String messageType, long lsnCommit, long timeUsec) {
    if (!"COMMIT".equals(messageType)) {
      return;
    }
    if (toDrop > 0) {
      throw corrupt("it ended %d rows before that".formatted(toDrop));
    }
    moveTo(lsnCommit);
    committedAt(timeUsec);
    txId = 0;
    rowsOfTx = 0;
    lastLsn = 0;
    lastRowLsn = 0;
  }

  /** Where Kafka is once everything delivered so far is committed there. */
  Position position() {
    return new Position(commitLsn, commitTimeUsec, txId, rowsOfTx, lastRowLsn, origin);
  }

  private void enter(long newTxId, long lsnCommit, long timeUsec) {
    if (newTxId <= 0) {
      throw new PayrelayException(
          Category.FATAL, "The engine delivered a row without a transaction id: " + place());
    }
    if (newTxId == txId) {
      if (lsnCommit != commitLsn) {
        throw corrupt("another transaction ended inside it, at %s".formatted(Lsn.text(lsnCommit)));
      }
      openTimeUsec = timeUsec;
      return;
    }
    if (toDrop > 0) {
      throw corrupt("transaction %d came %d rows before that".formatted(newTxId, toDrop));
    }
    moveTo(lsnCommit);
    committedAt(openTimeUsec);
    txId = newTxId;
    rowsOfTx = 0;
    lastLsn = 0;
    lastRowLsn = 0;
    openTimeUsec = timeUsec;
  }

  /** Not the latest ever: a clock that was once ahead would hide all later rows from a recovery. */
  private void committedAt(long timeUsec) {
    if (timeUsec > 0) {
      commitTimeUsec = timeUsec;
    }
  }

  private void moveTo(long lsnCommit) {
    if (Long.compareUnsigned(lsnCommit, commitLsn) < 0) {
      throw new PayrelayException(
          Category.FATAL,
          "The WAL went back to %s: %s. Look for a restored backup; then run `payrelay relay recover`"
              .formatted(Lsn.text(lsnCommit), place()));
    }
    commitLsn = lsnCommit;
  }

  private PayrelayException corrupt(String what) {
    return new PayrelayException(
        Category.FATAL,
        "The replication stream does not fit the relay's position (%s): %s. Nothing more is published;"
                .formatted(place(), what)
            + " run `payrelay relay recover`");
  }

  private String place() {
    return "position %s, %d rows of transaction %d".formatted(Lsn.text(commitLsn), rowsOfTx, txId);
  }
}
