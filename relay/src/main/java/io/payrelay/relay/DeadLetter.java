package io.payrelay.relay;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A dead letter as it was noted, and how it was resolved, if it was. Immutable.
 *
 * @param id its offset on the topic; of a topic that was made anew since, or that Kafka has lost
 *     records of before, with that topic's id, so that no id ever gets another meaning
 * @param source relay, charge-worker, other, or gap: offsets that were deleted before anybody noted
 *     them, or that Kafka lost afterwards
 * @param resolution REDRIVEN or DISCARDED; null: it is unresolved
 */
public record DeadLetter(
    String id,
    Instant at,
    String source,
    @Nullable String eventId,
    @Nullable String eventType,
    @Nullable String aggregateId,
    @Nullable String originalTopic,
    String reasonCode,
    String reason,
    @Nullable String resolution,
    @Nullable String resolvedBy,
    @Nullable String why) {

  public static final String REDRIVEN = "REDRIVEN";
  public static final String DISCARDED = "DISCARDED";

  /** True where somebody still has to act. */
  public boolean isUnresolved() {
    return resolution == null;
  }
}
