package io.payrelay.relay;

import java.util.HashMap;
import java.util.Map;
import java.util.function.ObjIntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * What one batch holds, for the meters: counted while it is sent, told once it is acknowledged.
 * Belongs to one thread.
 */
final class BatchCount {

  private final Map<String, int[]> rowsByType = new HashMap<>();
  private long oldestCommitUsec;
  private int rows;
  private final Map<String, int[]> deadLettersByReason = new HashMap<>();

  /** Counts a row; with why it became a dead letter, where it did. */
  void add(OutboxRow row, @Nullable String deadLetterReason) {
    if (rows++ == 0) {
      // Rows come in the order of their commits.
      oldestCommitUsec = row.commitTimeUsec();
    }
    if (deadLetterReason != null) {
      deadLettersByReason.computeIfAbsent(deadLetterReason, reason -> new int[1])[0]++;
    }
    rowsByType.computeIfAbsent(row.eventType(), type -> new int[1])[0]++;
  }

  int rows() {
    return rows;
  }

  /** Microseconds since 1970. */
  long oldestCommitUsec() {
    return oldestCommitUsec;
  }

  void forEachDeadLetter(ObjIntConsumer<String> action) {
    deadLettersByReason.forEach((reason, count) -> action.accept(reason, count[0]));
  }

  void forEachType(ObjIntConsumer<String> action) {
    rowsByType.forEach((type, count) -> action.accept(type, count[0]));
  }
}
