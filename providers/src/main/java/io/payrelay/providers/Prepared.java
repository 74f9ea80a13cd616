package io.payrelay.providers;

/** What an adapter makes of a payment before any call. */
public sealed interface Prepared {

  /**
   * The exact bytes that every try of this operation sends. The array is not changed by anybody.
   */
  record Ready(byte[] body) implements Prepared {}

  /**
   * The adapter cannot ask for this: the payment ends FAILED.
   *
   * @param code stable, for the payment's failure_code
   * @param reason a sentence without private data
   */
  record Refused(String code, String reason) implements Prepared {}
}
