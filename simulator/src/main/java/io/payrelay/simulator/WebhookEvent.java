package io.payrelay.simulator;

import java.time.Instant;

/** A change that is told to the client; id and body are the same in each attempt. */
record WebhookEvent(String id, String type, Instant at, Charge charge) {

  WebhookEvent withId(String otherId) {
    return new WebhookEvent(otherId, type, at, charge);
  }

  byte[] body() {
    return SimulatorJson.webhook(type, at, charge);
  }
}
