package io.payrelay.providers.http;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class AskedPauseTest {

  private static final Instant NOW = Instant.parse("2026-01-02T03:04:05Z");

  /** Near the end of its range, as such a clock may be. */
  private final AtomicLong nanoTime = new AtomicLong(Long.MAX_VALUE - 5);

  private final AskedPause pause = new AskedPause(nanoTime::get);

  @Test
  void lastsForAsLongAsIsAskedForAndAMinuteAtMost() {
    assertThat(pause.left()).isZero();

    note(429, "7");
    assertThat(pause.left()).isEqualTo(Duration.ofSeconds(7));
    nanoTime.addAndGet(Duration.ofSeconds(2).toNanos());
    note(503, "1");
    assertThat(pause.left()).isEqualTo(Duration.ofSeconds(5));
    note(503, "Fri, 02 Jan 2026 03:04:35 GMT");
    assertThat(pause.left()).isEqualTo(Duration.ofSeconds(30));
    nanoTime.addAndGet(Duration.ofSeconds(31).toNanos());
    assertThat(pause.left()).isZero();
    note(429, "86400");
    assertThat(pause.left()).isEqualTo(AskedPause.MAX);
  }

  @Test
  void isAskedForByNothingElse() {
    note(429, null);
    note(503, "soon");
    note(503, "0");
    for (int status : new int[] {200, 202, 301, 409, 500, 502}) {
      note(status, "7");
    }

    assertThat(pause.left()).isZero();
  }

  private void note(int status, @Nullable String retryAfter) {
    Map<String, String> headers = retryAfter == null ? Map.of() : Map.of("retry-after", retryAfter);
    pause.note(new HttpAnswer(status, headers, new byte[0]), NOW);
  }
}
