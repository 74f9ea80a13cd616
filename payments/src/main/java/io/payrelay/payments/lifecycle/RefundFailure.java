package io.payrelay.payments.lifecycle;

import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * That a refund at the provider has failed. Immutable.
 *
 * @param at when, by the provider's clock or by ours
 * @param byProvider whose clock it is
 * @param code why
 */
public record RefundFailure(Instant at, boolean byProvider, @Nullable String code) {

  /** The provider's clock and ours. */
  private static final Duration SKEW = Duration.ofMinutes(5);

  /** What a fact says. */
  public static RefundFailure of(Fact fact) {
    return new RefundFailure(fact.observedAt(), isByProvider(fact.source()), fact.code());
  }

  /** What we ask for and what we do ourselves happens by our clock. */
  public static boolean isByProvider(FactSource source) {
    return source == FactSource.WEBHOOK || source == FactSource.SETTLEMENT;
  }

  /** The later of two words on one refund. */
  public static RefundFailure later(RefundFailure one, RefundFailure other) {
    return one.at.isAfter(other.at) ? one : other;
  }

  /** Surely, that is: of two clocks. */
  private boolean isBefore(Instant other, boolean otherByProvider) {
    return other.isAfter(byProvider == otherByProvider ? at : at.plus(SKEW));
  }

  /**
   * Does a success only tell of what came before? Events overtake each other: the provider's own
   * time decides, and of one instant the failure, which is what a refund ends with. What a question
   * finds is as new as the question; the answer to the call that made the refund is older than any
   * failure.
   */
  static boolean isAfter(Fact success, @Nullable RefundFailure failure) {
    if (failure == null) {
      return false;
    }
    Instant asked = success.askedAt();
    return switch (success.source()) {
      case RESPONSE -> true;
      case QUERY -> asked != null && !failure.isBefore(asked, false);
      case WEBHOOK, SETTLEMENT -> !failure.isBefore(success.observedAt(), true);
      case OPERATOR, WORKER -> false;
    };
  }
}
