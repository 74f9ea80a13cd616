package io.payrelay.providers.http;

import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * How long a provider asks us to stay away, whatever for, as its answers have said so far. Safe for
 * any thread.
 */
final class AskedPause {

  /** One answer must not stop everything for longer: where it still holds, the next says so. */
  static final Duration MAX = Duration.ofSeconds(60);

  private final LongSupplier nanoTime;
  private final long startNs;
  private final AtomicLong untilNs = new AtomicLong();

  /**
   * None yet.
   *
   * @param nanoTime a monotonic clock
   */
  AskedPause(LongSupplier nanoTime) {
    this.nanoTime = nanoTime;
    this.startNs = nanoTime.getAsLong();
  }

  /**
   * Notes what an answer asks for. Only these two statuses ask it of everybody: elsewhere the
   * header is about the one thing that was asked for. A shorter pause does not end a longer one.
   */
  void note(HttpAnswer answer, Instant now) {
    if (answer.status() != 429 && answer.status() != 503) {
      return;
    }
    Duration asked = AnswerReader.retryAfter(answer, now);
    if (asked != null) {
      Duration pause = asked.compareTo(MAX) > 0 ? MAX : asked;
      untilNs.accumulateAndGet(sinceStartNs() + pause.toNanos(), Math::max);
    }
  }

  /** Zero where there is none, or where it is over. */
  Duration left() {
    return Duration.ofNanos(Math.max(0, untilNs.get() - sinceStartNs()));
  }

  private long sinceStartNs() {
    return nanoTime.getAsLong() - startNs;
  }
}
