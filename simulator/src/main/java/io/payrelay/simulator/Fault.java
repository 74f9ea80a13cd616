package io.payrelay.simulator;

/** What happens to one call that moves money, beside its honest answer. */
public enum Fault {
  /** The honest answer. */
  NONE,
  /** The connection is reset; nothing was executed. */
  RESET_BEFORE,
  /** 503 {@code not_processed}; nothing was executed, nothing is stored under the key. */
  NOT_PROCESSED,
  /** 429 with {@code Retry-After: 1}; nothing was executed, nothing is stored under the key. */
  RATE_LIMITED,
  /** The charge is executed, then the connection is reset. */
  RESET_AFTER,
  /** The charge is executed, then there is no answer until the client goes away. */
  TIMEOUT_AFTER,
  /** The charge is executed, then 500; the 500 is what the key replays. */
  ERROR_500_AFTER,
  /** The charge is executed; 200 with the first half of the JSON. The key replays the whole. */
  TRUNCATED_BODY,
  /** The charge is executed; a proxy's HTML 502. The key replays the honest answer. */
  HTML_502_AFTER,
  /**
   * The charge is executed, and answered, only after a delay; a query before that finds nothing.
   */
  SLOW,
  /** The charge is declined with insufficient_funds. */
  DECLINE,
  /** The charge is pending and succeeds later. */
  PENDING,
  /** The charge is pending and fails later. */
  PENDING_THEN_FAILED,
  /** For a refund: it succeeds and fails later, so that its money comes back. Else honest. */
  SUCCEEDED_THEN_FAILED,
  /** One minor unit too much is charged. Never part of a profile. */
  WRONG_AMOUNT
}
