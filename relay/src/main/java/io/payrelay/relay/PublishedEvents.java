package io.payrelay.relay;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.schemas.Topic;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.function.Consumer;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.utils.Utils;
import org.jspecify.annotations.Nullable;

/**
 * Which events Kafka holds since a time, by their ids, and from which of its partitions records
 * have been deleted. Belongs to one thread.
 */
final class PublishedEvents {

  /** Marks what {@code republish} sent: such a record says nothing about what the relay sent. */
  static final String REPUBLISHED_HEADER = "payrelay-republished";

  private static final Duration POLL = Duration.ofMillis(200);
  private static final long PROGRESS_NS = 5_000_000_000L;
  private static final int POLL_RECORDS_MAX = 5000;
  private static final int PARTITION_BYTES_MAX = 4_194_304;

  private final EventIds inTopics;
  private final EventIds inDeadLetters;
  private final Map<String, Integer> partitions = new TreeMap<>();
  private final Set<String> missingTopics = new TreeSet<>();
  private final Map<TopicPartition, Long> trimmed = new HashMap<>();
  private final Set<TopicPartition> notFromTheFirst = new HashSet<>();
  private long records;
  private long foreign;

  private PublishedEvents(long idsMax) {
    this.inTopics = new EventIds(idsMax);
    this.inDeadLetters = new EventIds(Math.max(1000, idsMax / 4));
  }

  /** How to read. */
  record Reading(
      KafkaConfig kafka,
      List<Topic> topics,
      Duration stallLimit,
      long idsMax,
      Consumer<String> progress) {}

  /**
   * Reads all topics to their high watermarks of now.
   *
   * @param from null: from the first record
   * @throws PayrelayException RETRIABLE where an end cannot be reached
   */
  static PublishedEvents read(Admin admin, Reading how, @Nullable Instant from) {
    PublishedEvents events = new PublishedEvents(how.idsMax());
    List<TopicPartition> assigned = events.describe(admin, how.topics());
    Map<TopicPartition, Long> ends = offsets(admin, assigned, OffsetSpec.latest());
    Map<TopicPartition, Long> starts = offsets(admin, assigned, OffsetSpec.earliest());
    events.findTrimmed(admin, starts);
    Map<TopicPartition, Long> froms =
        from == null ? starts : firstSince(admin, assigned, from, ends);
    froms.forEach(
        (partition, start) -> {
          if (start > 0) {
            events.notFromTheFirst.add(partition);
          }
        });
    events.readAll(how, froms, ends);
    return events;
  }

  boolean inTopics(UUID eventId) {
    return inTopics.contains(eventId);
  }

  boolean inDeadLetters(UUID eventId) {
    return inDeadLetters.contains(eventId);
  }

  /** Records read, those of other programs and republished ones included. */
  long records() {
    return records;
  }

  /** Different events among them. */
  long events() {
    return inTopics.size() + inDeadLetters.size();
  }

  /** Records without an event id: another program's. */
  long foreign() {
    return foreign;
  }

  Set<String> missingTopics() {
    return missingTopics;
  }

  /**
   * A partition from which records have been deleted that may have been this row's, or null.
   *
   * @param topic where rows of its type go; empty: to the dead letters only
   * @param marginMs by which the clocks of relay and database may differ
   */
  @Nullable TopicPartition mayHaveHeld(
      String topic, String aggregateId, long createdUsec, long marginMs) {
    for (TopicPartition candidate : whereto(topic, aggregateId)) {
      Long oldestMs = trimmed.get(candidate);
      // What was deleted was published before the oldest record that is left.
      if (oldestMs != null && createdUsec / 1000 <= oldestMs + marginMs) {
        return candidate;
      }
    }
    return null;
  }

  /** Whether all records were read that a row's event can ever have been among. */
  boolean allEver(String topic, String aggregateId) {
    return whereto(topic, aggregateId).stream().noneMatch(notFromTheFirst::contains);
  }

  private List<TopicPartition> whereto(String topic, String aggregateId) {
    List<TopicPartition> candidates = new ArrayList<>();
    Integer count = partitions.get(topic);
    if (count != null) {
      int partition = Utils.toPositive(Utils.murmur2(aggregateId.getBytes(UTF_8))) % count;
      candidates.add(new TopicPartition(topic, partition));
    }
    candidates.add(new TopicPartition(Topic.DEAD_LETTER, 0));
    return candidates;
  }

  private List<TopicPartition> describe(Admin admin, List<Topic> topics) {
    List<TopicPartition> assigned = new ArrayList<>();
    List<String> existing = new ArrayList<>();
    for (Topic topic : topics) {
      if (Topics.exists(admin, topic.name())) {
        existing.add(topic.name());
      } else {
        missingTopics.add(topic.name());
      }
    }
    Map<String, TopicDescription> described =
        Futures.get(admin.describeTopics(existing).allTopicNames());
    described.forEach(
        (name, description) -> {
          partitions.put(name, description.partitions().size());
          for (int i = 0; i < description.partitions().size(); i++) {
            assigned.add(new TopicPartition(name, i));
          }
        });
    return assigned;
  }

  /** An earliest offset of 0 says that nothing was ever deleted. */
  private void findTrimmed(Admin admin, Map<TopicPartition, Long> starts) {
    List<TopicPartition> cut =
        starts.entrySet().stream()
            .filter(one -> one.getValue() > 0)
            .map(Map.Entry::getKey)
            .toList();
    list(admin, cut, OffsetSpec.forTimestamp(0))
        .forEach(
            (partition, oldest) ->
                trimmed.put(
                    partition, oldest.offset() < 0 ? Long.MAX_VALUE / 2 : oldest.timestamp()));
  }

  private static Map<TopicPartition, Long> firstSince(
      Admin admin, List<TopicPartition> partitions, Instant from, Map<TopicPartition, Long> ends) {
    Map<TopicPartition, Long> froms = new HashMap<>();
    list(admin, partitions, OffsetSpec.forTimestamp(Math.max(0, from.toEpochMilli())))
        .forEach(
            (partition, found) ->
                froms.put(
                    partition,
                    found.offset() < 0 ? ends.getOrDefault(partition, 0L) : found.offset()));
    return froms;
  }

  private void readAll(
      Reading how, Map<TopicPartition, Long> froms, Map<TopicPartition, Long> ends) {
    Map<String, Object> properties = how.kafka().consumerProperties("payrelay-recover");
    properties.put("allow.auto.create.topics", false);
    // What is deleted while it is read must not be skipped in silence.
    properties.put("auto.offset.reset", "none");
    properties.put("max.poll.records", POLL_RECORDS_MAX);
    properties.put("max.partition.fetch.bytes", PARTITION_BYTES_MAX);
    Set<TopicPartition> left = new HashSet<>();
    froms.forEach(
        (partition, start) -> {
          if (start < ends.getOrDefault(partition, 0L)) {
            left.add(partition);
          }
        });
    try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties)) {
      consumer.assign(left);
      left.forEach(partition -> consumer.seek(partition, froms.getOrDefault(partition, 0L)));
      long movedNs = System.nanoTime();
      long saidNs = movedNs;
      while (!left.isEmpty()) {
        boolean moved = false;
        for (ConsumerRecord<byte[], byte[]> read : consumer.poll(POLL)) {
          take(read);
          moved = true;
        }
        if (left.removeIf(
            partition -> consumer.position(partition) >= ends.getOrDefault(partition, 0L))) {
          moved = true;
          consumer.assign(left);
        }
        long nowNs = System.nanoTime();
        if (moved) {
          movedNs = nowNs;
        } else if (nowNs - movedNs > how.stallLimit().toNanos()) {
          throw new PayrelayException(
              Category.RETRIABLE,
              "Topic partitions %s could not be read to their end: a broker does not answer, or a transaction hangs there (kafka-transactions.sh find-hanging)"
                  .formatted(left));
        }
        if (nowNs - saidNs > PROGRESS_NS) {
          saidNs = nowNs;
          how.progress().accept("read %,d records of Kafka".formatted(records));
        }
      }
    }
  }

  private void take(ConsumerRecord<byte[], byte[]> read) {
    records++;
    Header id = read.headers().lastHeader("ce_id");
    if (id == null || id.value() == null) {
      foreign++;
      return;
    }
    if (read.headers().lastHeader(REPUBLISHED_HEADER) != null) {
      return;
    }
    UUID eventId;
    try {
      eventId = UUID.fromString(new String(id.value(), UTF_8));
    } catch (IllegalArgumentException e) {
      // The relay's ids are UUIDs, all of them: this is another program's record.
      foreign++;
      return;
    }
    if (read.topic().equals(Topic.DEAD_LETTER)) {
      inDeadLetters.add(eventId);
    } else {
      inTopics.add(eventId);
    }
  }

  private static Map<TopicPartition, Long> offsets(
      Admin admin, List<TopicPartition> partitions, OffsetSpec spec) {
    Map<TopicPartition, Long> offsets = new HashMap<>();
    list(admin, partitions, spec)
        .forEach((partition, found) -> offsets.put(partition, found.offset()));
    return offsets;
  }

  private static Map<TopicPartition, ListOffsetsResultInfo> list(
      Admin admin, List<TopicPartition> partitions, OffsetSpec spec) {
    Map<TopicPartition, OffsetSpec> asked = new HashMap<>();
    partitions.forEach(partition -> asked.put(partition, spec));
    return Futures.get(
        admin.listOffsets(asked, new ListOffsetsOptions(IsolationLevel.READ_UNCOMMITTED)).all());
  }
}
