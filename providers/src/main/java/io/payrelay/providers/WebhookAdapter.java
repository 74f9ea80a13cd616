package io.payrelay.providers;

import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * A provider's webhooks: proof, content, and the answers it wants. Whatever shape they have (JSON
 * or form bodies, HMAC or RSA, encrypted resources), an adapter works on the raw bytes and on keys
 * from its configuration: it never calls out, fetches no certificate that a request names, and
 * throws nothing but what is declared here. Safe for any thread.
 */
public interface WebhookAdapter {

  /** The name payments carry. */
  String name();

  /**
   * Verifies the signature over the raw bytes, in constant time, within the time window both ways.
   * A scheme that names its key answers {@link WebhookVerdict#UNKNOWN_KEY} for one it does not
   * have.
   */
  WebhookVerdict verify(WebhookRequest request, Instant now);

  /**
   * Reads a verified request. A provider that gives its events no id makes one here, of fields that
   * are the same on every delivery.
   *
   * @param receivedAt stands for the time of the event where the body names none
   * @throws UnreadableWebhookException where the body is not what the provider documents, or says
   *     what only a person can decide: it is kept for one
   */
  WebhookEvent read(WebhookRequest request, Instant receivedAt) throws UnreadableWebhookException;

  /**
   * The event's id where it can be told without a readable body: by it an authentic but unreadable
   * request is kept once. Else it is kept under the digest of its bytes.
   */
  default Optional<String> eventId(WebhookRequest request) {
    return Optional.empty();
  }

  /**
   * Names of the headers that are kept with the raw event, enough to {@link #read} it again; never
   * a signature.
   */
  List<String> keptHeaders();

  /**
   * Names of the body's fields, on its top level, that may differ between two deliveries of one
   * event; a difference in any other makes it a security case ({@link
   * WebhookEvent#businessDigest}).
   */
  Set<String> deliveryFields();

  /** What the provider wants to hear once the event is safe. */
  Answer accepted();

  /**
   * What the provider wants to hear where the event was not taken.
   *
   * @param status as the endpoint decided it: 400 or 401 for a request that proves nothing, 429 or
   *     503 where it should be delivered again
   * @param reason a constant of few words
   */
  default Answer refused(int status, String reason) {
    return new Answer(status, "text/plain", reason);
  }

  /** A status, a content type and a body. */
  record Answer(int status, String contentType, String body) {}
}
