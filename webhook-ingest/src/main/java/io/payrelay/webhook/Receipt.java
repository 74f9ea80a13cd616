package io.payrelay.webhook;

import org.jspecify.annotations.Nullable;

/**
 * What was done with a delivery; all of it is committed. Immutable.
 *
 * @param disposition of the event, also where this delivery was not the first
 */
record Receipt(
    String eventId,
    Kind kind,
    Disposition disposition,
    @Nullable String paymentId,
    @Nullable String traceId) {

  enum Kind {
    /** The first delivery. */
    NEW,
    /** Delivered before, with the same meaning. */
    DUPLICATE,
    /** Delivered before, with another meaning: the first one stays, a case was raised. */
    CONFLICTING
  }
}
