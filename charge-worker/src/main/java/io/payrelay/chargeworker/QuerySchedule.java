package io.payrelay.chargeworker;

import java.time.Duration;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * When to ask again. Half of each delay is certain, the other half jitter: a question straight
 * after a call would only find nothing. Immutable; the random generator decides thread-safety.
 */
record QuerySchedule(List<Duration> delays, Duration cap, RandomGenerator random) {

  private static final int DOUBLINGS_MAX = 30;

  QuerySchedule {
    delays = List.copyOf(delays);
    if (delays.isEmpty()) {
      throw new IllegalArgumentException("a schedule needs a delay");
    }
  }

  /** The delay before the question that follows so many. */
  Duration delay(int queries) {
    long ms = ceilingMs(queries);
    long half = ms / 2;
    return Duration.ofMillis(ms - half + random.nextLong(half + 1));
  }

  /** The longest it can be. */
  long ceilingMs(int queries) {
    if (queries < delays.size()) {
      return Math.min(delays.get(Math.max(queries, 0)).toMillis(), cap.toMillis());
    }
    long lastMs = delays.get(delays.size() - 1).toMillis();
    int doublings = Math.min(queries - delays.size() + 1, DOUBLINGS_MAX);
    return lastMs > cap.toMillis() >> doublings ? cap.toMillis() : lastMs << doublings;
  }
}
