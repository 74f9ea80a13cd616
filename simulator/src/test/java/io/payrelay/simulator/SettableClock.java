package io.payrelay.simulator;

import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.concurrent.atomic.AtomicReference;

/** A clock that tests move. */
final class SettableClock implements InstantSource {
  private final AtomicReference<Instant> now =
      new AtomicReference<>(Instant.parse("2026-01-02T03:04:05Z"));

  @Override
  public Instant instant() {
    return now.get();
  }

  void advance(Duration duration) {
    now.updateAndGet(instant -> instant.plus(duration));
  }
}
