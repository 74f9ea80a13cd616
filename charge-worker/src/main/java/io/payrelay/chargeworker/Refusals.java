package io.payrelay.chargeworker;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.Failures;
import io.payrelay.platform.errors.PayrelayException;
import java.sql.SQLException;
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
        if (tries >= TRIES_MAX || !ofTheMoment(Failures.sqlState(e))) {
          return e;
        }
      }
    }
  }

  /** A conflict with somebody else, or something wrong with one item: not the database away. */
  static boolean concernsOne(RuntimeException failure) {
    String state = Failures.sqlState(failure);
    Category category = Failures.categoryOf(failure);
    return category == Category.REJECTED
        || ofTheMoment(state)
        // Program limits: a value that no index takes.
        || (state != null && state.startsWith("54"))
        // A fault of our own code on this item's values: without a word of the database.
        || (category == Category.FATAL && !saysWhatItIs(failure));
  }

  /** What goes into keys and logs: never a message, which quotes values. */
  static String reason(RuntimeException failure) {
    String state = Failures.sqlState(failure);
    return state == null ? failure.getClass().getSimpleName() : state;
  }

  private static boolean ofTheMoment(@Nullable String sqlState) {
    return sqlState != null && (sqlState.equals("23505") || sqlState.startsWith("40"));
  }

  private static boolean saysWhatItIs(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof SQLException || cause instanceof PayrelayException) {
        return true;
      }
    }
    return false;
  }
}
