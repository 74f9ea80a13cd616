package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.payrelay.platform.errors.PayrelayException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;

class PositionTrackerTest {

  private static final DatabaseIdentity ORIGIN = new DatabaseIdentity("7", 1, "cluster");

  @Test
  void changeOfTransactionMovesTheCommitLsn() {
    PositionTracker tracker = new PositionTracker(Position.at(100, ORIGIN));

    assertThat(tracker.row(1, 110, 100, 5)).isTrue();
    assertThat(tracker.row(1, 120, 100, 5)).isTrue();
    assertThat(tracker.row(2, 115, 150, 6)).isTrue();

    assertThat(tracker.position()).isEqualTo(new Position(150, 5, 2, 1, 115, ORIGIN));
  }

  @Test
  void commitTimeOfAClockThatWasAheadIsForgotten() {
    PositionTracker tracker = new PositionTracker(new Position(100, 5_000_000, 0, 0, ORIGIN));

    tracker.row(1, 110, 100, 7);
    tracker.row(2, 160, 150, 8);
    assertThat(tracker.position().commitTimeUsec()).isEqualTo(7);
    tracker.heartbeat("COMMIT", 200, 0);

    assertThat(tracker.position().commitTimeUsec()).as("nothing is known of 0").isEqualTo(7);
  }

  @Test
  void heartbeatAfterCommitClearsTheOpenTransaction() {
    PositionTracker tracker = new PositionTracker(new Position(100, 0, 1, 0, ORIGIN));
    tracker.row(1, 110, 100, 5);

    tracker.heartbeat("INSERT", 100, 5);
    assertThat(tracker.position().txId()).isEqualTo(1);
    tracker.heartbeat("COMMIT", 150, 5);

    assertThat(tracker.position()).isEqualTo(new Position(150, 5, 0, 0, ORIGIN));
  }

  @Test
  void messageOfAnotherTransactionMovesThePositionWithoutBeingARow() {
    PositionTracker tracker = new PositionTracker(Position.at(100, ORIGIN));
    tracker.row(1, 110, 100, 5);

    tracker.message(2, 150, 6);

    assertThat(tracker.position()).isEqualTo(new Position(150, 5, 2, 0, ORIGIN));
  }

  @Test
  void firstRowsOfTheOpenTransactionAreDroppedAfterARestart() {
    PositionTracker tracker = new PositionTracker(new Position(100, 0, 1, 2, ORIGIN));

    assertThat(tracker.row(1, 110, 100, 5)).isFalse();
    assertThat(tracker.row(1, 110, 100, 5)).isFalse();
    assertThat(tracker.row(1, 110, 100, 5)).isTrue();

    assertThat(tracker.position().rowsOfTx()).isEqualTo(3);
  }

  @Test
  void countThatDoesNotFitIsCorruption() {
    assertThatThrownBy(
            () -> {
              PositionTracker tracker = new PositionTracker(new Position(100, 0, 1, 2, ORIGIN));
              tracker.row(1, 110, 100, 5);
              tracker.row(2, 150, 140, 5);
            })
        .isInstanceOf(PayrelayException.class)
        .hasMessageContaining("payrelay relay recover");
    assertThatThrownBy(
            () ->
                new PositionTracker(new Position(100, 0, 1, 2, ORIGIN)).heartbeat("COMMIT", 140, 5))
        .hasMessageContaining("does not fit");
    assertThatThrownBy(
            () -> new PositionTracker(new Position(100, 0, 1, 2, ORIGIN)).row(2, 150, 100, 5))
        .hasMessageContaining("does not fit");
  }

  @Test
  void walThatGoesBackIsCorruption() {
    assertThatThrownBy(
            () -> {
              PositionTracker tracker = new PositionTracker(Position.at(100, ORIGIN));
              tracker.row(1, 120, 100, 5);
              tracker.row(1, 119, 100, 5);
            })
        .hasMessageContaining("came after");
    assertThatThrownBy(() -> new PositionTracker(Position.at(100, ORIGIN)).row(1, 120, 99, 5))
        .hasMessageContaining("went back");
  }

  /** What PostgreSQL would send: whole transactions in commit order, from a commit LSN on. */
  private record Tx(long id, long endLsn, int rows, boolean message) {}

  private record Delivered(Tx tx, int row, long lsn, long lsnCommit, boolean heartbeat) {}

  @Property(tries = 500)
  void everyRowComesOutOnceInOrderHoweverOftenItCrashes(
      @ForAll long seed, @ForAll @IntRange(min = 1, max = 30) int txCount) {
    Random random = new Random(seed);
    List<Tx> wal = new ArrayList<>();
    long lsn = 1000;
    List<String> expected = new ArrayList<>();
    for (int i = 0; i < txCount; i++) {
      int rows = random.nextInt(8);
      lsn += 1000;
      wal.add(new Tx(i + 1, lsn, rows, rows == 0 || random.nextInt(4) == 0));
      for (int row = 0; row < rows; row++) {
        expected.add((i + 1) + "/" + row);
      }
    }

    List<String> published = new ArrayList<>();
    Position stored = Position.at(1000, ORIGIN);
    while (true) {
      PositionTracker tracker = new PositionTracker(stored);
      List<String> batch = new ArrayList<>();
      boolean crashed = false;
      for (Delivered delivered : stream(wal, stored.commitLsn(), random)) {
        deliver(tracker, delivered, batch);
        if (random.nextInt(3) == 0) {
          published.addAll(batch);
          batch.clear();
          stored = tracker.position();
        }
        if (random.nextInt(12) == 0) {
          crashed = true;
          break;
        }
      }
      if (!crashed) {
        published.addAll(batch);
        break;
      }
    }

    assertThat(published).isEqualTo(expected);
  }

  private static void deliver(PositionTracker tracker, Delivered delivered, List<String> batch) {
    Tx tx = delivered.tx();
    if (delivered.heartbeat()) {
      tracker.heartbeat(
          delivered.row() < 0 ? "COMMIT" : "INSERT", delivered.lsnCommit(), tx.endLsn());
    } else if (delivered.row() < 0) {
      tracker.message(tx.id(), delivered.lsnCommit(), tx.endLsn());
    } else if (tracker.row(tx.id(), delivered.lsn(), delivered.lsnCommit(), tx.endLsn())) {
      batch.add(tx.id() + "/" + delivered.row());
    }
  }

  private static List<Delivered> stream(List<Tx> wal, long from, Random random) {
    List<Delivered> stream = new ArrayList<>();
    long lsnCommit = from;
    for (Tx tx : wal) {
      if (tx.endLsn() <= from) {
        continue;
      }
      if (tx.message()) {
        stream.add(new Delivered(tx, -1, tx.endLsn() - 900, lsnCommit, false));
      }
      for (int row = 0; row < tx.rows(); row++) {
        // Several rows of one COPY share an LSN.
        stream.add(new Delivered(tx, row, tx.endLsn() - 500 + row / 3, lsnCommit, false));
        if (random.nextInt(5) == 0) {
          stream.add(new Delivered(tx, row, 0, lsnCommit, true));
        }
      }
      lsnCommit = tx.endLsn();
      if (random.nextInt(3) == 0) {
        stream.add(new Delivered(tx, -1, 0, lsnCommit, true));
      }
    }
    return stream;
  }
}
