package io.payrelay.relay;

import org.jspecify.annotations.Nullable;

/**
 * A row of the outbox as it came over the wire, with its place in the WAL. Immutable; the text form
 * holds no payload.
 *
 * @param commitTimeUsec microseconds since 1970
 */
record OutboxRow(
    String eventId,
    String aggregateType,
    String aggregateId,
    String eventType,
    String payload,
    @Nullable String traceId,
    @Nullable String traceparent,
    long txId,
    long lsn,
    long commitTimeUsec) {

  @Override
  public String toString() {
    return "OutboxRow[" + eventId + ", " + eventType + "]";
  }
}
