package io.payrelay.simulator;

import java.time.Instant;

/**
 * A change that is told to the client; id and body are the same in each attempt.
 *
 * @param face whose scheme proves it
 */
record WebhookEvent(Face face, String id, String type, Instant at, Content content) {

  /** The object that changed, as it was at that moment. */
  @FunctionalInterface
  interface Content {
    byte[] body(WebhookEvent event);
  }

  WebhookEvent withId(String otherId) {
    return new WebhookEvent(face, otherId, type, at, content);
  }

  byte[] body() {
    return content.body(this);
  }
}
