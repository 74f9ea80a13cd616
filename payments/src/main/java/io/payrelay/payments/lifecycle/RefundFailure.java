package io.payrelay.payments.lifecycle;

import java.time.Instant;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;

/**
 * That a refund at the provider has failed. Immutable.
 *
 * @param at by the source's own time
 * @param code why
 */
public record RefundFailure(Instant at, @Nullable String code) {

  /** The later of two words on one refund. */
  public static RefundFailure later(RefundFailure one, RefundFailure other) {
    return one.at.isAfter(other.at) ? one : other;
  }

  /**
   * Does a success only tell of what came before? Events overtake each other: the provider's own
   * time decides, and of one instant the failure, which is what a refund ends with. The answer to
   * the call that made the refund is older than any.
   */
  static boolean isAfter(Fact success, @Nullable RefundFailure failure) {
    return failure != null
        && (success.source() == FactSource.RESPONSE
            // The database keeps no finer time.
            || !success
                .observedAt()
                .truncatedTo(ChronoUnit.MILLIS)
                .isAfter(failure.at.truncatedTo(ChronoUnit.MILLIS)));
  }
}
