package io.payrelay.app.replay;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.schemas.EventCodec;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.apache.kafka.common.TopicPartition;
import org.jdbi.v3.core.Jdbi;

/**
 * Sets the offsets of a group back, so that it reads records again, and says before what they would
 * do. A group never skips anything by it: where the target lies after what is committed, nothing
 * changes. Belongs to one thread.
 */
public final class OffsetReplay implements AutoCloseable {

  private final KafkaConfig kafka;
  private final Jdbi jdbi;
  private final EventCodec codec;
  private final GroupOffsets offsets;

  /** Connects when it is first asked. */
  public OffsetReplay(KafkaConfig kafka, Jdbi jdbi, EventCodec codec) {
    this.kafka = kafka;
    this.jdbi = jdbi;
    this.codec = codec;
    this.offsets = new GroupOffsets(kafka);
  }

  /**
   * Says what would be read again; changes nothing.
   *
   * @param only these partitions; empty: all
   * @throws PayrelayException FATAL with a sentence where topic, group or target do not fit
   */
  public ReplayPlan plan(String topic, String group, ReplayTarget target, List<Integer> only) {
    List<TopicPartition> partitions = partitions(topic, only);
    List<String> members = offsets.members(group);
    Map<TopicPartition, Long> committed =
        new TreeMap<>(Comparator.comparingInt(TopicPartition::partition));
    committed.putAll(offsets.committed(group, partitions));
    Map<TopicPartition, Long> targets = targets(target, committed);
    Map<TopicPartition, Long> ends = offsets.ends(committed.keySet());
    Map<TopicPartition, ReplayReader.Range> ranges = new HashMap<>();
    committed.forEach(
        (partition, at) ->
            ranges.put(
                partition,
                // A topic that was made anew may end before what was committed of the old one.
                new ReplayReader.Range(of(targets, partition), Math.min(at, of(ends, partition)))));
    Map<TopicPartition, Map<Effect, Long>> effects =
        new ReplayReader(kafka, jdbi, codec).read(ranges);
    List<PartitionReplay> replays = new ArrayList<>();
    committed.forEach(
        (partition, at) ->
            replays.add(
                new PartitionReplay(
                    partition.partition(),
                    at,
                    of(targets, partition),
                    effects.getOrDefault(partition, Map.of()))));
    return new ReplayPlan(topic, group, members, replays);
  }

  /**
   * Sets the offsets of a plan.
   *
   * @throws PayrelayException FATAL where the group has members: Kafka would not keep what is set
   */
  public void execute(ReplayPlan plan) {
    refuseWhileActive(plan);
    Map<TopicPartition, Long> wanted = new HashMap<>();
    for (PartitionReplay one : plan.changed()) {
      wanted.put(new TopicPartition(plan.topic(), one.partition()), one.target());
    }
    if (!wanted.isEmpty()) {
      offsets.set(plan.group(), wanted);
    }
  }

  /** Fails with the names of the members, if there are any. */
  public static void refuseWhileActive(ReplayPlan plan) {
    if (!plan.members().isEmpty()) {
      throw new PayrelayException(
          Category.FATAL,
          "Group %s has members: %s. Stop them, wait until they have left, and run this again"
              .formatted(plan.group(), String.join(", ", plan.members())));
    }
  }

  @Override
  public void close() {
    offsets.close();
  }

  private List<TopicPartition> partitions(String topic, List<Integer> only) {
    List<TopicPartition> all = offsets.partitions(topic);
    for (int wanted : only) {
      if (all.stream().noneMatch(partition -> partition.partition() == wanted)) {
        throw new PayrelayException(
            Category.FATAL,
            "Topic %s has no partition %d: it has 0 to %d"
                .formatted(topic, wanted, all.size() - 1));
      }
    }
    return only.isEmpty()
        ? all
        : all.stream().filter(partition -> only.contains(partition.partition())).toList();
  }

  private Map<TopicPartition, Long> targets(
      ReplayTarget target, Map<TopicPartition, Long> committed) {
    Map<TopicPartition, Long> earliest = offsets.earliest(committed.keySet());
    Map<TopicPartition, Long> targets = new HashMap<>();
    if (target.offset() != null) {
      long offset = target.offset();
      refuseOutOfRange(offset, earliest, committed);
      committed.keySet().forEach(partition -> targets.put(partition, offset));
      return targets;
    }
    Map<TopicPartition, Long> from =
        target.time() == null ? earliest : offsets.since(committed.keySet(), target.time());
    committed.forEach(
        (partition, at) -> {
          long first = of(from, partition);
          // -1: no record was published since then. Beyond the committed one: not read yet anyway.
          targets.put(partition, first < 0 ? at : Math.min(first, at));
        });
    return targets;
  }

  private static void refuseOutOfRange(
      long offset, Map<TopicPartition, Long> earliest, Map<TopicPartition, Long> committed) {
    List<String> wrong = new ArrayList<>();
    committed.forEach(
        (partition, at) -> {
          long first = of(earliest, partition);
          if (offset < first || offset > at) {
            wrong.add("%d (%d to %d)".formatted(partition.partition(), first, at));
          }
        });
    if (!wrong.isEmpty()) {
      throw new PayrelayException(
          Category.FATAL,
          ("Offset %d is not between the oldest record and what the group has committed in partitions %s."
                  + " Name partitions that have it by --partition, or a time by --to-datetime")
              .formatted(offset, String.join(", ", wrong)));
    }
  }

  private static long of(Map<TopicPartition, Long> offsets, TopicPartition partition) {
    return Objects.requireNonNull(offsets.get(partition));
  }
}
