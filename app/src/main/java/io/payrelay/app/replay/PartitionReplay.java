package io.payrelay.app.replay;

import java.util.Map;

/**
 * What a replay means for one partition. Immutable.
 *
 * @param committed where the group is now
 * @param target where it begins again; equal to committed where nothing is read again
 * @param effects how many of the records between the two do what
 */
public record PartitionReplay(
    int partition, long committed, long target, Map<Effect, Long> effects) {

  /** Copies the map. */
  public PartitionReplay {
    effects = Map.copyOf(effects);
  }

  /** Records that are read again. */
  public long records() {
    return effects.values().stream().mapToLong(Long::longValue).sum();
  }

  /** How many of them do that. */
  public long count(Effect effect) {
    return effects.getOrDefault(effect, 0L);
  }
}
