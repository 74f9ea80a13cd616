package io.payrelay.payments.store;

import java.time.Duration;

/**
 * On what terms operations are claimed. Immutable.
 *
 * @param owner who claims; for people
 * @param lease how long the claimant has; nobody else touches the operation until it is over
 * @param keySafe how long after the first call's claim the key may be used; where the provider
 *     cannot be asked: after the request
 * @param asks can the provider be asked what became of a call?
 * @param resolveHorizon how long after its first claim an operation is worked on
 */
public record ClaimTerms(
    String owner, Duration lease, Duration keySafe, Duration resolveHorizon, boolean asks) {

  /** A key must not be used for longer than this part of its life, whatever the clocks say. */
  private static final int KEY_MARGIN_DIVISOR = 10;

  /**
   * How long a key may be used: its lifetime less a tenth, and less the time that a call may be on
   * its way after the last look at the clock. Never negative.
   */
  public static Duration keySafe(Duration keyLifetime, Duration lease, Duration callTimeout) {
    Duration tenth = keyLifetime.dividedBy(KEY_MARGIN_DIVISOR);
    Duration onTheWay = lease.plus(callTimeout);
    Duration safe = keyLifetime.minus(tenth.compareTo(onTheWay) > 0 ? tenth : onTheWay);
    return safe.isNegative() ? Duration.ZERO : safe;
  }
}
