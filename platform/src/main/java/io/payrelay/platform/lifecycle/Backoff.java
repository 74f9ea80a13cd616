package io.payrelay.platform.lifecycle;

import java.time.Duration;
import java.util.random.RandomGenerator;

/** Exponential delays with full jitter. Immutable; the random generator decides thread-safety. */
public record Backoff(Duration first, Duration max, RandomGenerator random) {

  private static final int DOUBLINGS_MAX = 30;

  /**
   * The delay before try number {@code failures + 1}: between 0 and min(max, first * 2^failures).
   */
  public Duration delay(int failures) {
    int doublings = Math.min(Math.max(failures, 0), DOUBLINGS_MAX);
    long maxMs = max.toMillis();
    // Compared before the shift, which could overflow.
    long ceilingMs = first.toMillis() > maxMs >> doublings ? maxMs : first.toMillis() << doublings;
    return Duration.ofMillis(random.nextLong(ceilingMs + 1));
  }
}
