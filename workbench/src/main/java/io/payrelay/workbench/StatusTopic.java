package io.payrelay.workbench;

import io.payrelay.platform.kafka.HeaderValues;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.schemas.EncodingException;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.EventCodec;
import io.payrelay.schemas.Topic;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;

/**
 * The payment-status topic from its beginning, as a read_committed consumer sees it. Belongs to one
 * thread.
 */
public final class StatusTopic implements AutoCloseable {

  private final KafkaConsumer<byte[], byte[]> consumer;
  private final EventCodec codec = new EventCodec(EventCatalogue.builtIn());
  private final Map<String, Map<Long, Integer>> seen = new HashMap<>();
  private final Map<String, Long> lastVersion = new HashMap<>();
  private long events;
  private long outOfOrder;

  /** Begins to read; the topic must exist. */
  public StatusTopic(KafkaConfig kafka) {
    consumer = new KafkaConsumer<>(kafka.consumerProperties("payrelay-invariants"));
    List<TopicPartition> partitions =
        consumer.partitionsFor(Topic.PAYMENT_STATUS).stream()
            .map(info -> new TopicPartition(info.topic(), info.partition()))
            .toList();
    consumer.assign(partitions);
    consumer.seekToBeginning(partitions);
  }

  /** Reads what is there; returns how many events came. */
  public int poll(Duration timeout) {
    int count = 0;
    for (ConsumerRecord<byte[], byte[]> record : consumer.poll(timeout)) {
      add(record);
      count++;
    }
    return count;
  }

  /** How many events were read. */
  public long events() {
    return events;
  }

  /** How often the version of a payment was read. */
  public int count(String paymentId, long version) {
    return seen.getOrDefault(paymentId, Map.of()).getOrDefault(version, 0);
  }

  /** Events beyond the first of their (payment_id, version). */
  public long duplicates() {
    return seen.values().stream()
        .flatMap(versions -> versions.values().stream())
        .mapToLong(count -> count - 1L)
        .sum();
  }

  /** Events that came after one of the same payment with a higher version. */
  public long outOfOrder() {
    return outOfOrder;
  }

  @Override
  public void close() {
    consumer.close();
  }

  private void add(ConsumerRecord<byte[], byte[]> record) {
    GenericRecord event;
    try {
      event =
          codec.decode(record.value(), HeaderValues.last(record.headers(), EventCodec.DATA_SCHEMA));
    } catch (EncodingException e) {
      throw new IllegalStateException("a status event cannot be read", e);
    }
    String paymentId = event.get("payment_id").toString();
    long version = (Long) event.get("version");
    events++;
    seen.computeIfAbsent(paymentId, id -> new HashMap<>()).merge(version, 1, Integer::sum);
    long last = lastVersion.getOrDefault(paymentId, 0L);
    if (version < last) {
      outOfOrder++;
    }
    lastVersion.put(paymentId, Math.max(last, version));
  }
}
