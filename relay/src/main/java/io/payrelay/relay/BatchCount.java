package io.payrelay.relay;

import java.util.HashMap;
import java.util.Map;
import java.util.function.ObjIntConsumer;

/**
 * What one batch holds, for the meters: counted while it is sent, told once it is acknowledged.
 * Belongs to one thread.
 */
final class BatchCount {

  private final Map<String, int[]> rowsByType = new HashMap<>();
  private long oldestCommitUsec;
  private int rows;
  private int deadLetters;

  void add(OutboxRow row, boolean deadLetter) {
    if (rows++ == 0) {
      // Rows come in the order of their commits.
      oldestCommitUsec = row.commitTimeUsec();
    }
    deadLetters += deadLetter ? 1 : 0;
    rowsByType.computeIfAbsent(row.eventType(), type -> new int[1])[0]++;
  }

  int rows() {
    return rows;
  }

  int deadLetters() {
    return deadLetters;
  }

  /** Microseconds since 1970. */
  long oldestCommitUsec() {
    return oldestCommitUsec;
  }

  void forEachType(ObjIntConsumer<String> action) {
    rowsByType.forEach((type, count) -> action.accept(type, count[0]));
  }
}
