package io.payrelay.chargeworker;

import io.payrelay.platform.errors.Failures;
import org.jspecify.annotations.Nullable;

/**
 * Tells what is wrong with one item from a database that is away, and bounds how often one item is
 * tried: the others must not wait for it for ever. Stateless.
 */
final class Refusals {

  /** Each try sees what the other transaction committed, so two are enough; the rest is crowds. */
  private static final int TRIES_MAX = 6;

  private Refusals() {}

  /**
   * Runs the transaction of one item.
   *
   * @return what it fails with each time; null where it is done
   * @throws RuntimeException where the failure is not the item's: all of them can wait
   */
  static @Nullable RuntimeException refusal(Runnable transaction) {
    for (int tries = 1; ; tries++) {
      try {
        transaction.run();
        return null;
      } catch (RuntimeException e) {
        if (!concernsOne(e)) {
          throw e;
        }
        if (tries >= TRIES_MAX || !Failures.ofTheMoment(e)) {
          return e;
        }
      }
    }
  }

  /** A conflict with somebody else, or something wrong with one item: not the database away. */
  static boolean concernsOne(RuntimeException failure) {
    return Failures.concernsOne(failure);
  }

  /** What goes into keys and logs: never a message, which quotes values. */
  static String reason(RuntimeException failure) {
    String state = Failures.sqlState(failure);
    return state == null ? failure.getClass().getSimpleName() : state;
  }
}
