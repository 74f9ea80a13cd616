package io.payrelay.workbench.bench;

import io.payrelay.platform.kafka.KafkaConfig;
import java.time.Duration;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.function.LongConsumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;

/**
 * What a read_committed consumer sees of a range of events, from the moment it was made: how many,
 * and whether each once. Belongs to one thread.
 */
final class VisibleRecords implements AutoCloseable {

  private final KafkaConsumer<byte[], byte[]> consumer;
  private final EventTable table;
  private final long first;
  private final int count;
  private final BitSet seen;
  private long records;
  private long duplicates;
  private long foreign;

  /** Watches for the events numbered from {@code first} on. */
  VisibleRecords(KafkaConfig kafka, EventTable table, long first, int count) {
    this.table = table;
    this.first = first;
    this.count = count;
    this.seen = new BitSet(count);
    Map<String, Object> properties = kafka.consumerProperties("payrelay-bench");
    properties.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, 10_000);
    properties.put(ConsumerConfig.CHECK_CRCS_CONFIG, false);
    consumer = new KafkaConsumer<>(properties);
    List<TopicPartition> partitions =
        consumer.partitionsFor(table.topic()).stream()
            .map(info -> new TopicPartition(info.topic(), info.partition()))
            .toList();
    consumer.assign(partitions);
    consumer.seekToEnd(partitions);
    partitions.forEach(consumer::position);
  }

  /**
   * Reads what is there.
   *
   * @param sink is told the place in the range of each event seen for the first time
   */
  void poll(Duration timeout, LongConsumer sink) {
    for (ConsumerRecord<byte[], byte[]> record : consumer.poll(timeout)) {
      records++;
      long place = table.number(record) - first;
      if (place < 0 || place >= count) {
        foreign++;
      } else if (seen.get((int) place)) {
        duplicates++;
      } else {
        seen.set((int) place);
        sink.accept(place);
      }
    }
  }

  long records() {
    return records;
  }

  /** Different events of the range. */
  int distinct() {
    return seen.cardinality();
  }

  long missing() {
    return count - (long) distinct();
  }

  /** Records that are the second of their event, or of no event that was written. */
  long surplus() {
    return duplicates + foreign;
  }

  @Override
  public void close() {
    consumer.close();
  }
}
