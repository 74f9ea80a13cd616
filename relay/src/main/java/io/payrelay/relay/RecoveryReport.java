package io.payrelay.relay;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a recovery found and did, for a person. Immutable.
 *
 * @param lines the whole story
 * @param rows rows of the outbox that were looked at
 * @param missing rows that Kafka does not hold
 * @param refusal why {@code --execute} would be refused, or null
 * @param executed whether anything was changed
 */
public record RecoveryReport(
    List<String> lines, long rows, long missing, @Nullable String refusal, boolean executed) {

  /** Copies the list. */
  public RecoveryReport {
    lines = List.copyOf(lines);
  }
}
