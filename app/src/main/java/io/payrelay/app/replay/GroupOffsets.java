package io.payrelay.app.replay;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.kafka.KafkaConfig;
import java.time.Instant;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.GroupIdNotFoundException;
import org.apache.kafka.common.errors.GroupNotEmptyException;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.errors.UnknownMemberIdException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.jspecify.annotations.Nullable;

/** What Kafka knows of a topic and a group; whatever stands against it becomes a sentence. */
final class GroupOffsets implements AutoCloseable {

  private static final long ANSWER_LIMIT_S = 30;

  private final KafkaConfig kafka;
  private final Admin admin;

  GroupOffsets(KafkaConfig kafka) {
    this.kafka = kafka;
    this.admin = Admin.create(kafka.clientProperties("payrelay-replay-admin"));
  }

  /** The partitions of a topic, in order. */
  List<TopicPartition> partitions(String topic) {
    TopicDescription description =
        ask(
            () -> of(admin.describeTopics(List.of(topic)).topicNameValues(), topic),
            Map.of(
                UnknownTopicOrPartitionException.class,
                "Topic %s does not exist: `payrelay status` lists the topics".formatted(topic),
                InvalidTopicException.class,
                "\"%s\" is no name of a topic".formatted(topic)));
    return description.partitions().stream()
        .map(info -> new TopicPartition(topic, info.partition()))
        .toList();
  }

  /** Who is in the group, each with its host. */
  List<String> members(String group) {
    String unknown = "Group %s does not exist: check --group".formatted(group);
    ConsumerGroupDescription description =
        ask(
            () -> of(admin.describeConsumerGroups(List.of(group)).describedGroups(), group),
            Map.of(GroupIdNotFoundException.class, unknown));
    if (description.groupState() == GroupState.DEAD) {
      throw new PayrelayException(Category.FATAL, unknown);
    }
    return description.members().stream()
        .map(member -> member.clientId() + " at " + member.host().replace("/", ""))
        .sorted()
        .toList();
  }

  /** The group's committed offsets in those partitions. */
  Map<TopicPartition, Long> committed(String group, List<TopicPartition> partitions) {
    Map<TopicPartition, OffsetAndMetadata> all =
        ask(
            () -> admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata(),
            Map.of(
                GroupIdNotFoundException.class,
                "Group %s does not exist: check --group".formatted(group)));
    Map<TopicPartition, Long> committed = new HashMap<>();
    for (TopicPartition partition : partitions) {
      OffsetAndMetadata offset = all.get(partition);
      if (offset != null) {
        committed.put(partition, offset.offset());
      }
    }
    if (committed.isEmpty()) {
      throw new PayrelayException(
          Category.FATAL,
          "Group %s has committed no offset of %s: it has nothing to read again. Check --topic and --group"
              .formatted(group, partitions.get(0).topic()));
    }
    return committed;
  }

  Map<TopicPartition, Long> earliest(Iterable<TopicPartition> partitions) {
    return offsets(partitions, OffsetSpec.earliest());
  }

  Map<TopicPartition, Long> ends(Iterable<TopicPartition> partitions) {
    return offsets(partitions, OffsetSpec.latest());
  }

  /** The first records that were published then or later; -1 where there is none. */
  Map<TopicPartition, Long> since(Iterable<TopicPartition> partitions, Instant time) {
    return offsets(partitions, OffsetSpec.forTimestamp(time.toEpochMilli()));
  }

  /** Sets the offsets; Kafka itself refuses while the group has members. */
  void set(String group, Map<TopicPartition, Long> offsets) {
    Map<TopicPartition, OffsetAndMetadata> wanted = new HashMap<>();
    offsets.forEach((partition, offset) -> wanted.put(partition, new OffsetAndMetadata(offset)));
    String joined =
        "Somebody has joined group %s meanwhile: stop its members and run this again"
            .formatted(group);
    ask(
        () -> admin.alterConsumerGroupOffsets(group, wanted).all(),
        Map.of(UnknownMemberIdException.class, joined, GroupNotEmptyException.class, joined));
  }

  @Override
  public void close() {
    admin.close();
  }

  private Map<TopicPartition, Long> offsets(Iterable<TopicPartition> partitions, OffsetSpec spec) {
    Map<TopicPartition, OffsetSpec> asked = new HashMap<>();
    partitions.forEach(partition -> asked.put(partition, spec));
    Map<TopicPartition, Long> offsets = new HashMap<>();
    Map<TopicPartition, ListOffsetsResultInfo> answers =
        ask(() -> admin.listOffsets(asked).all(), Map.of());
    answers.forEach((partition, answer) -> offsets.put(partition, answer.offset()));
    return offsets;
  }

  /**
   * The answer.
   *
   * @param refusals the sentence for each failure that a person can set right
   */
  private <T> T ask(
      Supplier<KafkaFuture<T>> question, Map<Class<? extends Exception>, String> refusals) {
    try {
      return question.get().get(ANSWER_LIMIT_S, TimeUnit.SECONDS);
    } catch (ExecutionException e) {
      Throwable cause = e.getCause() == null ? e : e.getCause();
      String sentence = refusals.get(cause.getClass());
      if (sentence != null) {
        throw new PayrelayException(Category.FATAL, sentence, cause);
      }
      throw cause instanceof KafkaException refused && !isTimeout(cause) ? refused : silent(cause);
    } catch (TimeoutException e) {
      throw silent(e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new PayrelayException(Category.RETRIABLE, "Interrupted while asking Kafka", e);
    }
  }

  private static <T> T of(Map<String, T> answers, String name) {
    return Objects.requireNonNull(answers.get(name));
  }

  private static boolean isTimeout(Throwable cause) {
    return cause instanceof org.apache.kafka.common.errors.TimeoutException;
  }

  private PayrelayException silent(@Nullable Throwable cause) {
    return new PayrelayException(
        Category.RETRIABLE,
        "Kafka does not answer at %s: check PAYRELAY_KAFKA_BOOTSTRAP_SERVERS and that the broker runs"
            .formatted(kafka.bootstrapServers()),
        cause);
  }
}
