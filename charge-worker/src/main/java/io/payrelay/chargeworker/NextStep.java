package io.payrelay.chargeworker;

import io.payrelay.payments.store.OperationAction;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What follows an attempt. Immutable.
 *
 * @param action null: nothing, the operation is closed
 * @param unresolved it is closed without a result: a person's
 */
record NextStep(@Nullable OperationAction action, Duration delay, boolean unresolved) {

  static final NextStep CLOSE = new NextStep(null, Duration.ZERO, false);
  static final NextStep UNRESOLVED = new NextStep(null, Duration.ZERO, true);

  static NextStep of(OperationAction action, Duration delay) {
    return new NextStep(action, delay, false);
  }
}
