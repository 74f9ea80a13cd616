package io.payrelay.providers;

/** A webhook body that cannot be read. The message names the field and never repeats a value. */
public final class UnreadableWebhookException extends Exception {

  private static final long serialVersionUID = 1L;

  /** What is wrong with the body. */
  public UnreadableWebhookException(String message) {
    super(message);
  }
}
