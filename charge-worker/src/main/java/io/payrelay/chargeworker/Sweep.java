package io.payrelay.chargeworker;

import io.payrelay.payments.store.OperationStore;
import io.payrelay.payments.store.PaymentStore;
import io.payrelay.payments.store.RefundStore;
import io.payrelay.platform.lifecycle.Worker;
import java.time.Duration;
import java.util.List;
import org.jdbi.v3.core.Jdbi;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Takes payments and refunds from their row whose event never came or whose operation is gone, and
 * keeps the metrics of what waits. Steps on one thread.
 */
final class Sweep implements Worker {

  private static final Logger log = LoggerFactory.getLogger(Sweep.class);

  private static final int BATCH_MAX = 500;

  private final Jdbi jdbi;
  private final Acceptance acceptance;
  private final Duration age;
  private final ChargeMetrics metrics;
  private final Runnable accepted;
  private final PaymentStore payments = new PaymentStore();
  private final OperationStore operations = new OperationStore();
  private final RefundAcceptance refundAcceptance;
  private final RefundStore refunds = new RefundStore();

  Sweep(
      Jdbi jdbi,
      Acceptance acceptance,
      RefundAcceptance refundAcceptance,
      Duration age,
      ChargeMetrics metrics,
      Runnable accepted) {
    this.jdbi = jdbi;
    this.acceptance = acceptance;
    this.refundAcceptance = refundAcceptance;
    this.age = age;
    this.metrics = metrics;
    this.accepted = accepted;
  }

  @Override
  public int runOnce() {
    metrics.backlog(jdbi.inTransaction(operations::backlog));
    sweepRefunds();
    List<String> ids = jdbi.inTransaction(tx -> payments.withoutOperation(tx, age, BATCH_MAX));
    if (ids.isEmpty()) {
      return 0;
    }
    log.warn(
        "no operation was made for payments count={}: taking them from their rows", ids.size());
    acceptance.accept(ids.stream().map(id -> new Trigger(id, null)).toList());
    metrics.swept(ids.size());
    accepted.run();
    // One that is refused has a case now. Should that be refused too, it would come again at once:
    // the next look is after the interval.
    return 0;
  }

  private void sweepRefunds() {
    List<String> ids = jdbi.inTransaction(tx -> refunds.withoutOperation(tx, age, BATCH_MAX));
    if (ids.isEmpty()) {
      return;
    }
    log.warn("no operation was made for refunds count={}: taking them from their rows", ids.size());
    refundAcceptance.accept(ids.stream().map(id -> new RefundTrigger(id, null)).toList());
    metrics.swept(ids.size());
    accepted.run();
  }
}
