package io.payrelay.chargeworker;

import java.util.Collection;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Providers whose outcomes wait while somebody has locked a table. Nothing is claimed for them:
 * whatever they answer would wait, too. Changed by one thread, asked by any.
 */
final class BlockedLanes {

  private static final Logger log = LoggerFactory.getLogger(BlockedLanes.class);

  private final Set<ProviderLane> blocked = ConcurrentHashMap.newKeySet();
  private @Nullable RuntimeException reason;

  /** Safe for any thread. */
  boolean contains(ProviderLane lane) {
    return blocked.contains(lane);
  }

  void add(Collection<ProviderLane> lanes, RuntimeException failure) {
    reason = failure;
    for (ProviderLane lane : lanes) {
      if (blocked.add(lane)) {
        log.warn(
            "answers wait, because somebody has locked a table provider={}: nothing is claimed",
            lane.provider().name());
      }
    }
  }

  void remove(Collection<ProviderLane> lanes) {
    for (ProviderLane lane : lanes) {
      if (blocked.remove(lane)) {
        log.info("answers do not wait any more provider={}", lane.provider().name());
      }
    }
  }

  /**
   * Nobody is served: that is a failure of the whole, which is told and paused for.
   *
   * @throws RuntimeException that with which the last of them was blocked
   */
  void refuseWhereAllOf(Collection<ProviderLane> lanes) {
    if (reason != null && !lanes.isEmpty() && blocked.containsAll(lanes)) {
      throw reason;
    }
  }
}
