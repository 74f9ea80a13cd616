package io.payrelay.relay;

import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.Topic;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.jspecify.annotations.Nullable;

/**
 * What Kafka holds of an installation, for a person: the relay's position, how far the topics go, a
 * consumer group's lag, and what breaks the promises. It reads only. Immutable.
 *
 * @param position null: there is none
 * @param positionAt when the last transaction before the position committed; null: not known
 * @param warnings sentences
 */
public record KafkaReport(
    String clusterId,
    @Nullable String position,
    @Nullable Instant positionAt,
    List<TopicEnds> topics,
    List<GroupLag> groups,
    List<String> warnings) {

  private static final Duration ANSWER_LIMIT = Duration.ofSeconds(5);

  /** How far a topic goes: its end offsets by partition, open transactions included. */
  public record TopicEnds(String topic, List<Long> endOffsets) {

    /** Offsets of all partitions; more than records, since each transaction takes one as well. */
    public long sum() {
      return endOffsets.stream().mapToLong(Long::longValue).sum();
    }
  }

  /**
   * Committed records that a consumer group has not yet taken.
   *
   * @param partitionsRead that it has committed an offset of
   */
  public record GroupLag(String groupId, String topic, int partitionsRead, long lag) {}

  /** Copies the lists. */
  public KafkaReport {
    topics = List.copyOf(topics);
    groups = List.copyOf(groups);
    warnings = List.copyOf(warnings);
  }

  /**
   * Asks Kafka. Ends within seconds, also where nobody answers.
   *
   * @param groupId consumer group of the charge requests
   */
  public static KafkaReport of(
      KafkaConfig kafka, RelayConfig config, EventCatalogue catalogue, String groupId) {
    Map<String, Object> properties = kafka.clientProperties("payrelay-status");
    int limitMs = Math.toIntExact(ANSWER_LIMIT.toMillis());
    properties.put(AdminClientConfig.DEFAULT_API_TIMEOUT_MS_CONFIG, limitMs);
    properties.put(AdminClientConfig.REQUEST_TIMEOUT_MS_CONFIG, limitMs);
    try (Admin admin = Admin.create(properties)) {
      String clusterId = Futures.get(admin.describeCluster().clusterId());
      List<String> warnings = new ArrayList<>();
      Position position = position(kafka, config, admin, warnings);
      List<Topic> wanted = Topics.all(catalogue, config.slotName());
      warnings.addAll(TopicCheck.warnings(admin, wanted));
      Map<String, Integer> partitions = TopicCheck.partitions(admin, wanted);
      List<GroupLag> groups = new ArrayList<>();
      for (String topic : List.of(Topic.CHARGE_REQUESTS, Topic.REFUND_REQUESTS)) {
        Integer requestPartitions = partitions.get(topic);
        if (requestPartitions != null) {
          lag(admin, groupId, topic, requestPartitions, groups, warnings);
        }
      }
      return new KafkaReport(
          clusterId,
          position == null ? null : position.toString(),
          position == null || position.commitTimeUsec() == 0
              ? null
              : Instant.EPOCH.plus(position.commitTimeUsec(), ChronoUnit.MICROS),
          ends(admin, partitions),
          groups,
          warnings);
    }
  }

  private static @Nullable Position position(
      KafkaConfig kafka, RelayConfig config, Admin admin, List<String> warnings) {
    try {
      Position position = new PositionStore(kafka, config.slotName()).read(admin, ANSWER_LIMIT);
      if (position == null) {
        warnings.add("Slot %s has no position in Kafka".formatted(config.slotName()));
      }
      return position;
    } catch (UnknownTopicOrPartitionException e) {
      // The missing topic is named below.
      return null;
    } catch (AuthorizationException e) {
      warnings.add("The relay's position may not be read by this Kafka user");
      return null;
    }
  }

  private static List<TopicEnds> ends(Admin admin, Map<String, Integer> partitions) {
    List<TopicEnds> ends = new ArrayList<>();
    new TreeMap<>(partitions)
        .forEach(
            (topic, count) -> {
              Map<TopicPartition, ListOffsetsResultInfo> offsets =
                  ends(admin, topic, count, IsolationLevel.READ_UNCOMMITTED);
              List<Long> all = new ArrayList<>();
              for (int i = 0; i < count; i++) {
                all.add(offset(offsets, new TopicPartition(topic, i)));
              }
              ends.add(new TopicEnds(topic, all));
            });
    return ends;
  }

  private static void lag(
      Admin admin,
      String groupId,
      String topic,
      int partitions,
      List<GroupLag> groups,
      List<String> warnings) {
    Map<TopicPartition, OffsetAndMetadata> committed;
    try {
      committed =
          Futures.get(admin.listConsumerGroupOffsets(groupId).partitionsToOffsetAndMetadata());
    } catch (AuthorizationException e) {
      warnings.add("Consumer group %s may not be read by this Kafka user".formatted(groupId));
      return;
    }
    long lag = 0;
    int read = 0;
    for (Map.Entry<TopicPartition, ListOffsetsResultInfo> end :
        ends(admin, topic, partitions, IsolationLevel.READ_COMMITTED).entrySet()) {
      OffsetAndMetadata at = committed.get(end.getKey());
      if (at != null) {
        read++;
        lag += Math.max(0, end.getValue().offset() - at.offset());
      }
    }
    groups.add(new GroupLag(groupId, topic, read, lag));
  }

  private static Map<TopicPartition, ListOffsetsResultInfo> ends(
      Admin admin, String topic, int partitions, IsolationLevel isolation) {
    Map<TopicPartition, OffsetSpec> asked = new HashMap<>();
    for (int i = 0; i < partitions; i++) {
      asked.put(new TopicPartition(topic, i), OffsetSpec.latest());
    }
    return Futures.get(admin.listOffsets(asked, new ListOffsetsOptions(isolation)).all());
  }

  private static long offset(
      Map<TopicPartition, ListOffsetsResultInfo> offsets, TopicPartition partition) {
    ListOffsetsResultInfo found = offsets.get(partition);
    return found == null ? -1 : found.offset();
  }
}
