package io.payrelay.relay;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Tells an engine that works or is idle from one that has died without a word. Two signs are asked
 * for: batches, which heartbeats cause when idle; and something out of PostgreSQL's stream, where
 * each heartbeat's message has to come back. Heartbeats alone prove nothing about the connection:
 * the engine makes them by itself over one that has long been dead. A walsender that is busy
 * decoding a large transaction counts as a sign too. Belongs to one thread, and to one session.
 */
final class EngineWatch {

  /** Heartbeats that may fail to come, and a margin, before the engine counts as dead. */
  private static final int HEARTBEATS_MISSED_MAX = 10;

  private static final Duration BATCH_MARGIN = Duration.ofSeconds(10);

  /** Beside two heartbeats. */
  private static final Duration STREAM_MARGIN = Duration.ofSeconds(15);

  /** Until it has connected at all. */
  private static final Duration CONNECT_MAX = Duration.ofSeconds(60);

  private final Duration batchSilenceMax;
  private final Duration streamSilenceMax;
  private boolean connected;
  private long lastStreamed;
  private @Nullable Long signNs;

  EngineWatch(RelayConfig config) {
    this.batchSilenceMax =
        config
            .heartbeatInterval()
            .multipliedBy(HEARTBEATS_MISSED_MAX)
            .plus(config.transactionTimeout())
            .plus(BATCH_MARGIN);
    this.streamSilenceMax = config.heartbeatInterval().multipliedBy(2).plus(STREAM_MARGIN);
  }

  /**
   * Looks once; called each time the lease is renewed.
   *
   * @param batchSilence how long no batch has come
   * @param streamed records out of the stream so far
   * @param walsenderBusy {@link SlotLease#walsenderBusy}
   * @throws PayrelayException RETRIABLE where the engine counts as dead
   */
  void check(Duration batchSilence, long streamed, @Nullable Boolean walsenderBusy) {
    check(batchSilence, streamed, walsenderBusy, System.nanoTime());
  }

  void check(Duration batchSilence, long streamed, @Nullable Boolean walsenderBusy, long nowNs) {
    if (batchSilence.compareTo(batchSilenceMax) > 0) {
      throw dead("The engine has delivered nothing", batchSilenceMax);
    }
    Long sinceNs = signNs;
    boolean busy = walsenderBusy != null && walsenderBusy;
    if (sinceNs == null || busy || streamed != lastStreamed) {
      connected |= busy || streamed > 0;
      lastStreamed = streamed;
      signNs = nowNs;
      return;
    }
    Duration limit = connected ? streamSilenceMax : CONNECT_MAX;
    if (nowNs - sinceNs > limit.toNanos()) {
      throw dead(
          walsenderBusy == null
              ? "No walsender has worked on the slot"
              : "PostgreSQL's stream has brought nothing, not even a heartbeat's message,",
          limit);
    }
  }

  private static PayrelayException dead(String what, Duration limit) {
    return new PayrelayException(
        Category.RETRIABLE, "%s for %d s".formatted(what, limit.toSeconds()));
  }
}
