package io.payrelay.platform.lifecycle;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;

class BackoffPropertyTest {

  @Property
  void staysBetweenZeroAndTheDoubledFirstDelay(
      @ForAll @LongRange(min = 0, max = Long.MAX_VALUE / 2) long firstMs,
      @ForAll @LongRange(min = 0, max = Long.MAX_VALUE / 2) long maxMs,
      @ForAll @IntRange(min = -1) int failures,
      @ForAll long seed) {
    Backoff backoff =
        new Backoff(Duration.ofMillis(firstMs), Duration.ofMillis(maxMs), new Random(seed));

    long delayMs = backoff.delay(failures).toMillis();

    double doubled = firstMs * Math.pow(2, Math.max(0, Math.min(failures, 30)));
    assertThat(delayMs).isBetween(0L, maxMs);
    assertThat((double) delayMs).isLessThanOrEqualTo(doubled);
  }

  @Property(tries = 20)
  void spreadsOverTheWholeRange(@ForAll long seed) {
    Backoff backoff = new Backoff(Duration.ofMillis(100), Duration.ofSeconds(10), new Random(seed));

    List<Long> delays = Stream.generate(() -> backoff.delay(5).toMillis()).limit(200).toList();

    assertThat(delays).anyMatch(delay -> delay < 1000).anyMatch(delay -> delay > 2200);
  }
}
