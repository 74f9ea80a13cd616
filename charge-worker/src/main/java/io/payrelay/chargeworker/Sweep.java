package io.payrelay.chargeworker;

import io.payrelay.payments.store.BacklogStore;
import io.payrelay.payments.store.BodyRetention;
import io.payrelay.payments.store.PaymentStore;
import io.payrelay.payments.store.RefundStore;
import io.payrelay.platform.database.LockLimit;
import io.payrelay.platform.lifecycle.Worker;
import java.time.Duration;
import java.util.List;
import org.jdbi.v3.core.HandleCallback;
import org.jdbi.v3.core.Jdbi;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes payments and refunds from their row whose event never came or whose operation is gone,
 * removes bodies after their time, and keeps the metrics of what waits. Overdue leases need no
 * sweep: such an operation is due again by itself. Steps on one thread.
 */
final class Sweep implements Worker {

  private static final Logger log = LoggerFactory.getLogger(Sweep.class);

  private static final int BATCH_MAX = 500;

  /** A later look does as well; meanwhile nobody is to wait for what this one has locked. */
  private static final Duration LOCK_LIMIT = Duration.ofMillis(250);

  private final Jdbi jdbi;
  private final Acceptance acceptance;
  private final ChargeConfig config;
  private final ChargeMetrics metrics;
  private final Runnable accepted;
  private final PaymentStore payments = new PaymentStore();
  private final RefundAcceptance refundAcceptance;
  private final RefundStore refunds = new RefundStore();
  private final BacklogStore backlog = new BacklogStore();
  private final BodyRetention bodies = new BodyRetention();

  Sweep(
      Jdbi jdbi,
      Acceptance acceptance,
      RefundAcceptance refundAcceptance,
      ChargeConfig config,
      ChargeMetrics metrics,
      Runnable accepted) {
    this.jdbi = jdbi;
    this.acceptance = acceptance;
    this.refundAcceptance = refundAcceptance;
    this.config = config;
    this.metrics = metrics;
    this.accepted = accepted;
  }

  @Override
  public int runOnce() {
    look(
        tx -> {
          metrics.backlog(
              backlog.charges(tx, config.keyNearExpiry()),
              backlog.refunds(tx, config.keyNearExpiry()),
              backlog.openCases(tx));
          return true;
        });
    acceptMissed();
    sweepRefunds();
    // Only this goes on at once: what is refused above would come again and again.
    return wipe() == BATCH_MAX ? BATCH_MAX : 0;
  }

  private <T> T look(HandleCallback<T, RuntimeException> at) {
    return jdbi.inTransaction(
        tx -> {
          LockLimit.set(tx, LOCK_LIMIT);
          return at.withHandle(tx);
        });
  }

  private void acceptMissed() {
    List<String> ids = look(tx -> payments.withoutOperation(tx, config.sweepAge(), BATCH_MAX));
    if (ids.isEmpty()) {
      return;
    }
    log.warn(
        "no operation was made for payments count={}: taking them from their rows", ids.size());
    taken(acceptance.accept(ids.stream().map(id -> new Trigger(id, null)).toList()));
    // One that is refused has a case now. Should that be refused too, it would come again at once:
    // the next look is after the interval.
  }

  private int wipe() {
    if (config.bodyRetention().isZero()) {
      return 0;
    }
    int wiped = look(tx -> bodies.wipe(tx, config.bodyRetention(), BATCH_MAX));
    metrics.wiped(wiped);
    return wiped;
  }

  private void sweepRefunds() {
    List<String> ids = look(tx -> refunds.withoutOperation(tx, config.sweepAge(), BATCH_MAX));
    if (ids.isEmpty()) {
      return;
    }
    log.warn("no operation was made for refunds count={}: taking them from their rows", ids.size());
    taken(refundAcceptance.accept(ids.stream().map(id -> new RefundTrigger(id, null)).toList()));
  }

  /** What somebody holds meanwhile is not taken: it is found again by a later look. */
  private void taken(List<Verdict> verdicts) {
    metrics.swept((int) verdicts.stream().filter(verdict -> verdict != Verdict.HELD).count());
    accepted.run();
  }
}
