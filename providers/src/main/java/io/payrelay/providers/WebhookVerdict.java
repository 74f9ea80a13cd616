package io.payrelay.providers;

/** Whether a request is from the provider. */
public sealed interface WebhookVerdict {

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
