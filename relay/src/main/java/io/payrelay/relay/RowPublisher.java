package io.payrelay.relay;

import io.payrelay.platform.errors.Failures;
import io.payrelay.platform.errors.PayrelayException;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.header.Header;
import org.jspecify.annotations.Nullable;

/**
 * Publishes rows of the table, not of the WAL, as the relay would, with one header more, some in a
 * Kafka transaction. Belongs to one thread.
 */
final class RowPublisher {

  private final Producer<byte[], byte[]> producer;
  private final RecordFactory factory;
  private final Set<String> refusedEventIds;
  private final Header mark;
  private final boolean sendsDeadLetters;
  private final InstantSource clock;

  /** What is done just before a transaction is committed. */
  interface BeforeCommit {
    void run();
  }

  /**
   * Made for one run.
   *
   * @param refusedEventIds the set that the factory reads too
   * @param sendsDeadLetters whether a row that cannot be encoded goes to the dead letters
   */
  RowPublisher(
      Producer<byte[], byte[]> producer,
      RecordFactory factory,
      Set<String> refusedEventIds,
      Header mark,
      boolean sendsDeadLetters,
      InstantSource clock) {
    this.producer = producer;
    this.factory = factory;
    this.refusedEventIds = refusedEventIds;
    this.mark = mark;
    this.sendsDeadLetters = sendsDeadLetters;
    this.clock = clock;
  }

  /**
   * One transaction; once more for each record that Kafka finds too large.
   *
   * @param last sent after the rows, such as a position
   * @return the events that became dead letters
   */
  List<String> publish(
      List<OutboxRow> rows,
      @Nullable ProducerRecord<byte[], byte[]> last,
      BeforeCommit beforeCommit) {
    while (true) {
      int refusedBefore = refusedEventIds.size();
      try {
        return publishOnce(rows, last, beforeCommit);
      } catch (KafkaException e) {
        if (refusedEventIds.size() == refusedBefore) {
          throw e;
        }
        producer.abortTransaction();
      }
    }
  }

  private List<String> publishOnce(
      List<OutboxRow> rows,
      @Nullable ProducerRecord<byte[], byte[]> last,
      BeforeCommit beforeCommit) {
    List<String> deadLetters = new ArrayList<>();
    producer.beginTransaction();
    for (OutboxRow row : rows) {
      RecordFactory.Outgoing outgoing = factory.of(row, clock.millis());
      if (outgoing.deadLetter()) {
        deadLetters.add(row.eventId());
        if (!sendsDeadLetters) {
          continue;
        }
      }
      outgoing.record().headers().add(mark);
      var unused =
          producer.send(
              outgoing.record(),
              (metadata, error) -> {
                if (error instanceof RecordTooLargeException) {
                  RecordFactory.refused(refusedEventIds, row.eventId(), outgoing);
                }
              });
    }
    if (last != null) {
      var unused = producer.send(last);
    }
    beforeCommit.run();
    producer.commitTransaction();
    return deadLetters;
  }

  /** What a failure of Kafka means to a person: the command can be run again. */
  static PayrelayException again(String command, RuntimeException failure) {
    return failure instanceof PayrelayException ours
        ? ours
        : new PayrelayException(
            Failures.categoryOf(failure),
            "Kafka has not taken everything (%s): run `%s` again, it goes on where this run ended"
                .formatted(failure.getMessage(), command),
            failure);
  }
}
