package io.payrelay.providers;

/** Whether a request is from the provider. */
public sealed interface WebhookVerdict {

  /** No active secret or key made this signature of these bytes. */
  Refused DOES_NOT_FIT = new Refused(false, "signature does not fit");

  /** The request names a key that is none of ours; nothing is fetched to find out. */
  Refused UNKNOWN_KEY = new Refused(false, "unknown key");

  /** Too old, or from the future: a replay, or a clock that is wrong. */
  Refused OUTSIDE_THE_WINDOW = new Refused(false, "timestamp outside the window");

  /**
   * It is.
   *
   * @param keyId names the secret that fitted, never the secret itself
   */
  record Authentic(String keyId) implements WebhookVerdict {}

  /**
   * It is not, or cannot be told.
   *
   * @param malformed true: headers are missing or unreadable (400), false: the proof fails (401)
   * @param reason for the metric and the log; a constant, never a value from the request
   */
  record Refused(boolean malformed, String reason) implements WebhookVerdict {}
}
