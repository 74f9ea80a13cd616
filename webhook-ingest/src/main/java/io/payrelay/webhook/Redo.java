package io.payrelay.webhook;

import io.payrelay.platform.errors.Failures;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Does a transaction again where only the moment was wrong. Stateless. */
final class Redo {

  /** Each redo sees what the other one committed, so two are enough; the rest is for crowds. */
  private static final int TRIES_MAX = 6;

  private Redo() {}

  /**
   * Runs it until it returns a value.
   *
   * @param transaction returns null where it lost a race and rolled back
   */
  static <T> T untilDone(Supplier<@Nullable T> transaction) {
    return untilDone(TRIES_MAX, transaction);
  }

  /** The same, with fewer tries. */
  static <T> T untilDone(int triesMax, Supplier<@Nullable T> transaction) {
    for (int tries = 1; ; tries++) {
      try {
        T done = transaction.get();
        if (done != null) {
          return done;
        }
      } catch (RuntimeException e) {
        if (tries >= triesMax || !Failures.ofTheMoment(e)) {
          throw e;
        }
      }
      if (tries >= triesMax) {
        throw new IllegalStateException("lost " + tries + " races for one webhook event");
      }
    }
  }
}
