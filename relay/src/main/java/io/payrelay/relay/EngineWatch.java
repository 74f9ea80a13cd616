package io.payrelay.relay;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Tells an engine that works or is idle from one that has died without a word. It asks both ends:
 * whether the engine still hands over batches, which heartbeats make it do when idle, and whether
 * PostgreSQL still hears the engine. Heartbeats alone prove nothing about the connection: the
 * engine makes them by itself over one that has long been dead. Belongs to one thread, and to one
 * session.
 */
final class EngineWatch {

  /** Heartbeats that may fail to come, and a margin, before the engine counts as dead. */
  private static final int HEARTBEATS_MISSED_MAX = 10;

  private static final Duration BATCH_MARGIN = Duration.ofSeconds(10);

  /** The engine reports each second, also while a batch waits for Kafka. */
  private static final Duration UNHEARD_MAX = Duration.ofSeconds(15);

  /** Until it has connected at all. */
  private static final Duration CONNECT_MAX = Duration.ofSeconds(60);

  private final Duration batchSilenceMax;
  private @Nullable String lastHeard;
  private @Nullable Long heardNs;

  EngineWatch(RelayConfig config) {
    this.batchSilenceMax =
        config
            .heartbeatInterval()
            .multipliedBy(HEARTBEATS_MISSED_MAX)
            .plus(config.transactionTimeout())
            .plus(BATCH_MARGIN);
  }

  /**
   * Looks once; called each time the lease is renewed.
   *
   * @param batchSilence how long no batch has come
   * @param heard {@link SlotLease#walsenderHeard}
   * @throws PayrelayException RETRIABLE where the engine counts as dead
   */
  void check(Duration batchSilence, @Nullable String heard) {
    check(batchSilence, heard, System.nanoTime());
  }

  void check(Duration batchSilence, @Nullable String heard, long nowNs) {
    if (batchSilence.compareTo(batchSilenceMax) > 0) {
      throw new PayrelayException(
          Category.RETRIABLE,
          "The engine has delivered nothing for " + batchSilenceMax.toSeconds() + " s");
    }
    Long sinceNs = heardNs;
    if (sinceNs == null || (heard != null && !heard.equals(lastHeard))) {
      lastHeard = heard;
      heardNs = nowNs;
      return;
    }
    Duration limit = lastHeard == null ? CONNECT_MAX : UNHEARD_MAX;
    if (nowNs - sinceNs > limit.toNanos()) {
      throw new PayrelayException(
          Category.RETRIABLE,
          heard == null
              ? "No walsender has worked on the slot for " + limit.toSeconds() + " s"
              : "PostgreSQL has heard nothing from the engine for " + limit.toSeconds() + " s");
    }
  }
}
