package io.payrelay.relay;

import java.time.Instant;
import java.util.List;

/**
 * Which stored events to send again. Immutable.
 *
 * @param from on created_at, the start of the transaction that wrote the event; inclusive
 * @param to exclusive
 * @param aggregateIds empty: of all aggregates
 * @param eventsMax more than that are refused
 */
public record RepublishSelection(
    Instant from, Instant to, List<String> aggregateIds, long eventsMax) {

  /**
   * Copies the list.
   *
   * @throws IllegalArgumentException with a sentence, where it makes no sense
   */
  public RepublishSelection {
    aggregateIds = List.copyOf(aggregateIds);
    if (!to.isAfter(from)) {
      throw new IllegalArgumentException("--to %s is not after --from %s".formatted(to, from));
    }
    if (eventsMax < 1) {
      throw new IllegalArgumentException("--max-events must be 1 or more");
    }
  }
}
