package io.payrelay.providers;

import java.time.Instant;
import java.util.List;
import java.util.Optional;

/** A provider's webhooks: proof, content, and the answers it wants. Safe for any thread. */
public interface WebhookAdapter {

  /** The name payments carry. */
  String name();

  /**
   * Verifies the signature over the raw bytes, in constant time, within the time window both ways.
   */
  WebhookVerdict verify(WebhookRequest request, Instant now);

  /**
   * Reads a verified request.
   *
   * @param receivedAt stands for the time of the event where the body names none
   * @throws UnreadableWebhookException where the body is not what the provider documents
   */
  WebhookEvent read(WebhookRequest request, Instant receivedAt) throws UnreadableWebhookException;

  /**
   * The event's id where it can be told without a readable body: by it an authentic but unreadable
   * request is kept once.
   */
  default Optional<String> eventId(WebhookRequest request) {
    return Optional.empty();
  }

  /**
   * Names of the headers that are kept with the raw event, enough to {@link #read} it again; never
   * a signature.
   */
  List<String> keptHeaders();

  /** What the provider wants to hear once the event is safe. */
  Answer accepted();

  /** A status, a content type and a body. */
  record Answer(int status, String contentType, String body) {}
}
