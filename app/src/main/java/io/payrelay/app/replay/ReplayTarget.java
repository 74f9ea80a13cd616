package io.payrelay.app.replay;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * Where a group is to begin again. Immutable.
 *
 * @param offset of each partition; null: by time, or from the earliest record
 * @param time the first record that was published then or later; null: by offset or earliest
 */
public record ReplayTarget(@Nullable Long offset, @Nullable Instant time) {

  /** The oldest record that Kafka still has. */
  public static ReplayTarget earliest() {
    return new ReplayTarget(null, null);
  }

  /** That offset in each partition. */
  public static ReplayTarget offset(long offset) {
    return new ReplayTarget(offset, null);
  }

  /** The first record of each partition that was published then or later. */
  public static ReplayTarget since(Instant time) {
    return new ReplayTarget(null, time);
  }
}
