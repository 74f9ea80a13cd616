package io.payrelay.webhook;

import java.time.Duration;

/**
 * When an event without its payment is looked at again, and for how long. Immutable.
 *
 * @param limit from receipt; after it the event is a person's
 */
public record ParkSchedule(Duration first, Duration max, Duration limit) {

  private static final int DOUBLINGS_MAX = 30;

  /** The delay after that many looks: doubles from the first to the longest. */
  Duration delay(int looks) {
    long ms = first.toMillis() << Math.min(Math.max(looks, 0), DOUBLINGS_MAX);
    return ms < 0 || ms > max.toMillis() ? max : Duration.ofMillis(ms);
  }
}
