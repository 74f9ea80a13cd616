package io.payrelay.relay;

import java.util.List;
import java.util.Map;

/**
 * What was, or would be, sent again. Immutable.
 *
 * @param byType by topic and event type
 * @param unencodable events that cannot be encoded: they are not sent
 */
public record RepublishReport(
    Map<String, Long> byType, List<String> unencodable, boolean executed) {

  /** Copies both. */
  public RepublishReport {
    byType = Map.copyOf(byType);
    unencodable = List.copyOf(unencodable);
  }

  /** All events that are, or would be, sent. */
  public long events() {
    return byType.values().stream().mapToLong(Long::longValue).sum();
  }
}
