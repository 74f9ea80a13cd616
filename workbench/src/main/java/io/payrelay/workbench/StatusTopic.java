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
 * The topic of the payments' or of the refunds' status from its beginning, as a read_committed
 * consumer sees it. Belongs to one thread.
 */
public final class StatusTopic implements AutoCloseable {

  private final KafkaConsumer<byte[], byte[]> consumer;
  private final String idField;
  private final EventCodec codec = new EventCodec(EventCatalogue.builtIn());
  private final Map<String, Map<Long, Integer>> seen = new HashMap<>();
  private final Map<String, Long> lastVersion = new HashMap<>();
  private long events;
  private long outOfOrder;

  /** Begins to read that of payments; the topic must exist. */
  public StatusTopic(KafkaConfig kafka) {
    this(kafka, Topic.PAYMENT_STATUS, "payment_id");
  }

  /** Begins to read that of refunds. */
  public static StatusTopic ofRefunds(KafkaConfig kafka) {
    return new StatusTopic(kafka, Topic.REFUND_STATUS, "refund_id");
  }

  private StatusTopic(KafkaConfig kafka, String topic, String idField) {
    this.idField = idField;
    consumer = new KafkaConsumer<>(kafka.consumerProperties("payrelay-invariants"));
    List<TopicPartition> partitions =
        consumer.partitionsFor(topic).stream()
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

  /** How often the version of a payment or refund was read. */
  public int count(String id, long version) {
    return seen.getOrDefault(id, Map.of()).getOrDefault(version, 0);
  }

  /** Events beyond the first of their id and version. */
  public long duplicates() {
    return seen.values().stream()
        .flatMap(versions -> versions.values().stream())
        .mapToLong(count -> count - 1L)
        .sum();
  }

  /** Events that came after one of the same id with a higher version. */
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
    String id = event.get(idField).toString();
    long version = (Long) event.get("version");
    events++;
    seen.computeIfAbsent(id, first -> new HashMap<>()).merge(version, 1, Integer::sum);
    long last = lastVersion.getOrDefault(id, 0L);
    if (version < last) {
      outOfOrder++;
    }
    lastVersion.put(id, Math.max(last, version));
  }
}
