package io.payrelay.relay;

import java.util.concurrent.TimeUnit;

/**
 * How long to wait between two Kafka transactions while a backlog is worked off. A transaction
 * costs the same for ten rows as for a thousand, on the broker too, and the engine hands over
 * whatever has come in a poll interval: without a pause, many small transactions would take the CPU
 * that decoding needs. Pure.
 *
 * <p>Only old rows wait, so what is relayed as it is committed is not delayed. Where the clocks of
 * the database and of this machine differ, a row may look older than it is; the other condition, a
 * high rate, holds then still, and so does the bound.
 */
final class Pace {

  /** Fewer rows in a batch: the stream is slow enough for a transaction each. */
  static final int ROWS_MIN = 50;

  static final long AGE_MIN_NS = TimeUnit.MILLISECONDS.toNanos(250);

  /** From the begin of a batch to that of the next; the engine's queue holds more than that. */
  static final long CYCLE_NS = TimeUnit.MILLISECONDS.toNanos(40);

  private Pace() {}

  /**
   * The wait after a batch.
   *
   * @param rows how many it had
   * @param rowsMax how many a batch can have: a full one shows that more are waiting
   * @param ageNs how long ago its first row was committed
   * @param tookNs how long publishing it took
   */
  static long pauseNs(int rows, int rowsMax, long ageNs, long tookNs) {
    if (rows < ROWS_MIN || rows >= rowsMax || ageNs < AGE_MIN_NS) {
      return 0;
    }
    return Math.max(0, CYCLE_NS - tookNs);
  }
}
