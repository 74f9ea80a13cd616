package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.relay.HangingTransactions.Verdict;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalInt;
import java.util.OptionalLong;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;

/** The transaction in question has epoch 3; its marker would carry 4. */
class HangingTransactionsTest {

  private static final TopicPartition POSITION = new TopicPartition("position", 0);
  private static final int CURRENT = 9;

  private final Map<TopicPartition, ProducerState> states = new HashMap<>();
  private long nowMs = 1_000;

  @Test
  void nothingOpenNeedsNothing() {
    ended(POSITION, 4);
    ended(events(1), 8);

    assertThat(verdict()).isEqualTo(Verdict.NOTHING_OPEN);
  }

  @Test
  void whatNobodyHasSeenIsAborted() {
    open(POSITION, 3);
    open(events(1), 3);
    ended(events(2), 3);
    ended(events(3), 1);

    assertThat(verdict()).isEqualTo(Verdict.ABORT);
  }

  @Test
  void markerOnRowsWhosePositionHangsMayBeACommit() {
    open(POSITION, 3);
    ended(events(1), 4);

    assertThat(verdict()).isEqualTo(Verdict.REFUSE);
  }

  @Test
  void markerOnThePositionSaysWhatBecameOfHangingRows() {
    ended(POSITION, 4);
    open(events(1), 3);
    ended(events(2), 4);

    assertThat(verdict()).isEqualTo(Verdict.AS_POSITION);
  }

  @Test
  void positionOfALaterTransactionSaysNothing() {
    ended(POSITION, 5);
    open(events(1), 3);

    assertThat(verdict()).isEqualTo(Verdict.REFUSE);
  }

  @Test
  void positionThatTheTransactionNeverReachedLeavesNothingToSee() {
    ended(POSITION, 3);
    open(events(1), 3);

    assertThat(verdict()).isEqualTo(Verdict.ABORT);
  }

  @Test
  void markerOfOldTransactionsCannotBeToldFromTheirBatches() {
    open(POSITION, 3);
    states.put(events(1), state(3, 7, OptionalLong.empty()));

    assertThat(verdict()).isEqualTo(Verdict.REFUSE);
  }

  @Test
  void twoTransactionsThatHangAreForAHuman() {
    open(events(1), 3);
    open(events(2), 2);

    assertThat(verdict()).isEqualTo(Verdict.REFUSE);
  }

  @Test
  void oldTransactionWhoseMarkersMayBeForgottenIsForAHuman() {
    open(POSITION, 3);
    nowMs = Duration.ofHours(13).toMillis();

    assertThat(verdict()).isEqualTo(Verdict.REFUSE);
  }

  @Test
  void openTransactionOfALaterOwnerIsNotTouched() {
    open(events(1), CURRENT);

    assertThat(verdict()).isEqualTo(Verdict.FENCED);
  }

  private Verdict verdict() {
    return HangingTransactions.verdict(states, POSITION, CURRENT, nowMs);
  }

  private void open(TopicPartition partition, int epoch) {
    states.put(partition, state(epoch, 0, OptionalLong.of(4)));
  }

  /** Kafka forgets a producer's batches with the marker that changes its epoch. */
  private void ended(TopicPartition partition, int epoch) {
    states.put(partition, state(epoch, -1, OptionalLong.empty()));
  }

  private static TopicPartition events(int partition) {
    return new TopicPartition("events", partition);
  }

  private static ProducerState state(int epoch, int lastSequence, OptionalLong openFrom) {
    return new ProducerState(0, epoch, lastSequence, 1, OptionalInt.empty(), openFrom);
  }
}
