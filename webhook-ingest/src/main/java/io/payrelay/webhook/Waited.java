package io.payrelay.webhook;

import io.payrelay.platform.errors.Failures;
import org.jspecify.annotations.Nullable;

/** Why a transaction on an event had to give up, although nothing is known to be wrong with it. */
enum Waited {
  LOCK("another session holds its payment"),
  STATEMENT("a statement on it took longer than it may");

  private static final String LOCK_NOT_AVAILABLE = "55P03";
  private static final String QUERY_CANCELED = "57014";

  private final String sentence;

  Waited(String sentence) {
    this.sentence = sentence;
  }

  /** Null where it failed for another reason. */
  static @Nullable Waited of(RuntimeException failure) {
    String state = Failures.sqlState(failure);
    if (state == null) {
      return null;
    }
    return switch (state) {
      case LOCK_NOT_AVAILABLE -> LOCK;
      case QUERY_CANCELED -> STATEMENT;
      default -> null;
    };
  }

  String sentence() {
    return sentence;
  }

  /** The same, of an event that met it to the end. */
  String always(StoredEvent event) {
    return "%s, also at its last look, %d s after it had come"
        .formatted(sentence, event.age().toSeconds());
  }
}
