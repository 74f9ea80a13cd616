package io.payrelay.providers;

import org.jspecify.annotations.Nullable;

/** A webhook body that cannot be read. The message names the field and never repeats a value. */
public final class UnreadableWebhookException extends Exception {

  private static final long serialVersionUID = 1L;

  private final transient @Nullable Identity identity;

  /**
   * What was readable of the event: by it the event is kept once, however often it is delivered.
   */
  public record Identity(String eventId, String eventType, byte[] businessDigest) {}

  /** What is wrong with the body. */
  public UnreadableWebhookException(String message) {
    this(message, null);
  }

  private UnreadableWebhookException(String message, @Nullable Identity identity) {
    super(message);
    this.identity = identity;
  }

  /** The same of an event that is known by its id. */
  public UnreadableWebhookException of(String eventId, String eventType, byte[] businessDigest) {
    return new UnreadableWebhookException(
        String.valueOf(getMessage()), new Identity(eventId, eventType, businessDigest));
  }

  /** What was readable, where anything was. */
  public @Nullable Identity identity() {
    return identity;
  }
}
