package io.payrelay.chargeworker;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;

/**
 * A record on its way to being accepted. Immutable.
 *
 * @param trigger null where the record cannot be read
 * @param problem why it cannot, else null
 * @param firstSeenMs when it was first tried
 * @param tries how often its payment was not visible, or held by somebody
 */
record Received(
    ConsumerRecord<byte[], byte[]> source,
    @Nullable Trigger trigger,
    @Nullable String problem,
    long firstSeenMs,
    int tries) {

  private static final long FIRST_PAUSE_MS = 20;
  private static final long PAUSE_MAX_MS = 1_000;
  private static final int DOUBLINGS_MAX = 6;

  TopicPartition partition() {
    return new TopicPartition(source.topic(), source.partition());
  }

  Received triedAgain() {
    return new Received(source, trigger, problem, firstSeenMs, tries + 1);
  }

  /** How long to wait before looking again. */
  long pauseMs() {
    return Math.min(FIRST_PAUSE_MS << Math.min(tries, DOUBLINGS_MAX), PAUSE_MAX_MS);
  }
}
