package io.payrelay.schemas;

import java.time.Duration;
import java.util.List;
import java.util.Map;

/**
 * A topic that {@code migrate} makes and whose partitions never change: the order of a key's events
 * hangs on them. Immutable.
 *
 * @param retention how long records are kept; zero: compacted instead
 */
public record Topic(String name, int partitions, Duration retention) {

  public static final String CHARGE_REQUESTS = "payrelay.charge-requests";
  public static final String REFUND_REQUESTS = "payrelay.refund-requests";
  public static final String PAYMENT_STATUS = "payrelay.payment-status";
  public static final String REFUND_STATUS = "payrelay.refund-status";
  public static final String DEAD_LETTER = "payrelay.dead-letter";
  public static final String RELAY_POSITION_PREFIX = "payrelay.relay-position.";

  private static final int KEYED_PARTITIONS = 12;

  /** The topics every installation has; the relay's position topics come per slot. */
  public static List<Topic> all() {
    return List.of(
        new Topic(CHARGE_REQUESTS, KEYED_PARTITIONS, Duration.ofDays(14)),
        new Topic(REFUND_REQUESTS, KEYED_PARTITIONS, Duration.ofDays(14)),
        new Topic(PAYMENT_STATUS, KEYED_PARTITIONS, Duration.ofDays(30)),
        new Topic(REFUND_STATUS, KEYED_PARTITIONS, Duration.ofDays(30)),
        new Topic(DEAD_LETTER, 1, Duration.ofDays(30)));
  }

  /** A topic for an event type of the operator's own. */
  public static Topic forEvents(String name) {
    return new Topic(name, KEYED_PARTITIONS, Duration.ofDays(30));
  }

  /** The relay's position for a slot: one partition, compacted. */
  public static Topic relayPosition(String slotName) {
    return new Topic(RELAY_POSITION_PREFIX + slotName, 1, Duration.ZERO);
  }

  /** The topic's own configuration entries, as Kafka names them. */
  public Map<String, String> configuration() {
    if (retention.isZero()) {
      return Map.of("cleanup.policy", "compact");
    }
    return Map.of("cleanup.policy", "delete", "retention.ms", Long.toString(retention.toMillis()));
  }
}
