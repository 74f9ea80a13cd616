package io.payrelay.app.replay;

import java.util.List;

/**
 * What would be read again. Immutable.
 *
 * @param members who is in the group now; while there is one, its offsets cannot be set
 * @param partitions those in which the group has committed an offset
 */
public record ReplayPlan(
    String topic, String group, List<String> members, List<PartitionReplay> partitions) {

  /** Copies the lists. */
  public ReplayPlan {
    members = List.copyOf(members);
    partitions = List.copyOf(partitions);
  }

  /** Records that are read again, in all partitions. */
  public long records() {
    return partitions.stream().mapToLong(PartitionReplay::records).sum();
  }

  /** How many of them do that. */
  public long count(Effect effect) {
    return partitions.stream().mapToLong(one -> one.count(effect)).sum();
  }

  /** The partitions whose offset changes. */
  public List<PartitionReplay> changed() {
    return partitions.stream().filter(one -> one.target() != one.committed()).toList();
  }
}
