package io.payrelay.webhook;

import io.payrelay.platform.lifecycle.Worker;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import org.jdbi.v3.core.Jdbi;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Wipes bodies and headers of old, settled events, a batch a step; which ones may go, the database
 * decides. Steps on one thread; several processes may do so side by side.
 */
final class EventRetention implements Worker {

  private static final Logger log = LoggerFactory.getLogger(EventRetention.class);

  /** Small: a repeated delivery of one of them waits for the batch. */
  private static final int BATCH = 200;

  /** How often it is looked for more where all was wiped. */
  private static final Duration REST = Duration.ofMinutes(10);

  private final Jdbi jdbi;
  private final int retentionDays;
  private final InstantSource clock;
  private final IngestMetrics metrics;
  private Instant next = Instant.MIN;
  private long wipedSinceRest;

  /**
   * A wiper.
   *
   * @param retentionDays 0: nothing is wiped
   */
  EventRetention(Jdbi jdbi, int retentionDays, InstantSource clock, IngestMetrics metrics) {
    this.jdbi = jdbi;
    this.retentionDays = retentionDays;
    this.clock = clock;
    this.metrics = metrics;
  }

  /** One worker of two: wiping goes on beside the other's steps. */
  static Worker beside(
      Worker other, Jdbi jdbi, int retentionDays, InstantSource clock, IngestMetrics metrics) {
    EventRetention retention = new EventRetention(jdbi, retentionDays, clock, metrics);
    return () -> other.runOnce() + retention.runOnce();
  }

  @Override
  public int runOnce() {
    Instant now = clock.instant();
    if (retentionDays == 0 || now.isBefore(next)) {
      return 0;
    }
    int wiped =
        jdbi.inTransaction(
            tx ->
                tx.createQuery("SELECT payrelay.wipe_provider_events(:days, :batch)")
                    .bind("days", retentionDays)
                    .bind("batch", BATCH)
                    .mapTo(Integer.class)
                    .one());
    metrics.wiped(wiped);
    wipedSinceRest += wiped;
    if (wiped < BATCH) {
      next = now.plus(REST);
      if (wipedSinceRest > 0) {
        log.info(
            "webhook_bodies_wiped events={} older_than_days={}", wipedSinceRest, retentionDays);
        wipedSinceRest = 0;
      }
    }
    return wiped;
  }
}
