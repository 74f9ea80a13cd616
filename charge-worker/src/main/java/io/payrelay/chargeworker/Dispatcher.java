package io.payrelay.chargeworker;

import io.payrelay.payments.lifecycle.Refund;
import io.payrelay.payments.store.Claim;
import io.payrelay.payments.store.OperationStore;
import io.payrelay.platform.database.LockLimit;
import io.payrelay.platform.lifecycle.Worker;
import io.payrelay.platform.telemetry.LogContext;
import io.payrelay.providers.ChargeCall;
import io.payrelay.providers.ChargeRef;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.ProviderAnswer;
import io.payrelay.providers.ProviderResult;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jdbi.v3.core.Jdbi;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Claims due operations and starts their calls; first ones and repeated ones alike. Steps on one
 * thread; answers are handed on by the provider's threads.
 */
final class Dispatcher implements Worker {

  private static final Logger log = LoggerFactory.getLogger(Dispatcher.class);

  /** No row is waited for; while somebody has locked a table, later is as good as now. */
  private static final Duration LOCK_LIMIT = Duration.ofMillis(100);

  private final Jdbi jdbi;
  private final List<ProviderLane> lanes;
  private final ChargeConfig config;
  private final ChargeFaults faults;
  private final Consumer<Outcome> outcomes;
  private final BooleanSupplier outcomesWait;
  private final ChargeMetrics metrics;
  private final OperationStore operations = new OperationStore();

  /**
   * A dispatcher.
   *
   * @param outcomesWait nothing is claimed while no answer can be written
   */
  Dispatcher(
      Jdbi jdbi,
      List<ProviderLane> lanes,
      ChargeConfig config,
      ChargeFaults faults,
      Consumer<Outcome> outcomes,
      BooleanSupplier outcomesWait,
      ChargeMetrics metrics) {
    this.jdbi = jdbi;
    this.lanes = List.copyOf(lanes);
    this.config = config;
    this.faults = faults;
    this.outcomes = outcomes;
    this.outcomesWait = outcomesWait;
    this.metrics = metrics;
  }

  @Override
  public int runOnce() {
    int started = 0;
    for (ProviderLane lane : lanes) {
      if (!outcomesWait.getAsBoolean()) {
        started += dispatch(lane);
      }
    }
    return started;
  }

  private int dispatch(ProviderLane lane) {
    int taken = lane.take(config.dispatchBatchMax());
    if (taken == 0) {
      return 0;
    }
    int used = 0;
    try {
      // Before the database looks at its clock: our deadlines may be early, never late.
      long beforeNs = System.nanoTime();
      Map<Long, Refund> refunds = new HashMap<>();
      OperationStore.Claimed claimed =
          jdbi.inTransaction(
              tx -> {
                LockLimit.set(tx, LOCK_LIMIT);
                OperationStore.Claimed all =
                    operations.take(tx, lane.provider().name(), taken, lane.terms());
                refunds.putAll(RefundCalls.of(tx, all.claims()));
                return all;
              });
      List<Claim> claims = claimed.claims();
      used = claims.size();
      lane.inFlight().add(used);
      if (used > 0) {
        faults.reached(ChargeFaults.Point.AFTER_CLAIM);
      }
      claims.forEach(claim -> start(lane, claim, refunds.get(claim.operationId()), beforeNs));
      abandoned(lane, claimed);
      return used;
    } finally {
      lane.giveBack(taken, used);
    }
  }

  private void abandoned(ProviderLane lane, OperationStore.Claimed claimed) {
    if (claimed.abandonedCharges() > 0) {
      metrics.abandoned(lane.provider().name(), false, claimed.abandonedCharges());
    }
    if (claimed.abandonedRefunds() > 0) {
      metrics.abandoned(lane.provider().name(), true, claimed.abandonedRefunds());
    }
  }

  private void start(ProviderLane lane, Claim claim, @Nullable Refund refund, long beforeNs) {
    long startedNs = System.nanoTime();
    CompletableFuture<Void> unused =
        called(lane, claim, refund, beforeNs)
            .handle(
                (answer, failure) ->
                    answer == null
                        ? adapterFailed(lane, claim, failure)
                        : withResult(lane, claim, answer))
            .thenAccept(
                answer -> {
                  Duration took = Duration.ofNanos(System.nanoTime() - startedNs);
                  lane.report(answer.result(), took);
                  faults.reached(ChargeFaults.Point.AFTER_ANSWER);
                  outcomes.accept(new Outcome(lane, claim, answer, startedNs, took, refund));
                })
            .whenComplete(
                (done, failure) -> {
                  if (failure != null) {
                    lost(lane, claim, failure);
                  }
                });
  }

  /** Whatever the adapter does, there is a future that says so. */
  private CompletableFuture<ProviderAnswer> called(
      ProviderLane lane, Claim claim, @Nullable Refund refund, long beforeNs) {
    try {
      CompletableFuture<ProviderAnswer> call =
          refund == null
              ? call(lane.provider(), claim, beforeNs)
              : RefundCalls.call(
                  lane.provider(),
                  claim,
                  refund,
                  beforeNs + sendLeft(claim).toNanos(),
                  config.callTimeout());
      return Objects.requireNonNull(call, "an adapter's call");
    } catch (RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }

  /**
   * Nobody else sees it. The slot is free for others; what became of the attempt is unknown, and
   * found when its lease is over.
   */
  private static void lost(ProviderLane lane, Claim claim, Throwable failure) {
    lane.inFlight().add(-1);
    try (LogContext context = LogContext.ofPayment(claim.paymentId(), claim.traceId())) {
      context.with("provider", claim.provider());
      context.with("attempt", Integer.toString(claim.attemptNumber()));
      log.error(
          "an answer is lost by our own fault operation={} payment={} failure={}: its lease will end",
          claim.operationId(),
          claim.paymentId(),
          where(failure));
    }
  }

  private CompletableFuture<ProviderAnswer> call(
      PaymentProvider provider, Claim claim, long beforeNs) {
    return switch (claim.action()) {
      case CALL ->
          provider.charge(
              new ChargeCall(
                  claim.paymentId(),
                  claim.idempotencyKey(),
                  claim.body(),
                  beforeNs + sendLeft(claim).toNanos(),
                  config.callTimeout()));
      case QUERY ->
          provider.capabilities().queryByPaymentId()
              ? provider.query(charge(claim), config.callTimeout())
              : CompletableFuture.completedFuture(
                  ProviderAnswer.without(ProviderLane.NOBODY_TO_ASK));
      case CANCEL -> provider.cancel(charge(claim), config.callTimeout());
    };
  }

  private static ChargeRef charge(Claim claim) {
    return new ChargeRef(
        claim.paymentId(), claim.providerReference(), claim.requestedAt(), claim.sinceLastCall());
  }

  /**
   * The bytes leave while the key is safe, and early enough to be answered within the lease. The
   * first time they cannot be a repetition, however short the provider's memory.
   */
  private Duration sendLeft(Claim claim) {
    Duration ours = claim.leaseLeft().minus(config.callTimeout());
    return claim.callCount() == 1 || ours.compareTo(claim.keySafeLeft()) < 0
        ? ours
        : claim.keySafeLeft();
  }

  /** What an adapter could not make anything of is evidence all the same. */
  private static ProviderAnswer withResult(ProviderLane lane, Claim claim, ProviderAnswer answer) {
    if (answer.result() != null) {
      return answer;
    }
    try (LogContext context = LogContext.ofPayment(claim.paymentId(), claim.traceId())) {
      context.with("provider", lane.provider().name());
      context.with("attempt", Integer.toString(claim.attemptNumber()));
      log.warn("an adapter gave an answer without a result: the result is unknown");
    }
    return new ProviderAnswer(
        new ProviderResult.Unknown("the adapter gave no result"),
        answer.further(),
        answer.refunds(),
        answer.httpStatus(),
        answer.body());
  }

  private static ProviderAnswer adapterFailed(
      ProviderLane lane, Claim claim, @Nullable Throwable failure) {
    Throwable cause =
        failure == null ? new IllegalStateException("no answer") : withoutWrapper(failure);
    try (LogContext context = LogContext.ofPayment(claim.paymentId(), claim.traceId())) {
      context.with("provider", lane.provider().name());
      context.with("attempt", Integer.toString(claim.attemptNumber()));
      log.warn("an adapter failed: the result is unknown failure={}", where(cause));
    }
    return ProviderAnswer.without(
        new ProviderResult.Unknown("adapter failed: " + cause.getClass().getSimpleName()));
  }

  /** Never the message: it may quote what was sent or answered. */
  private static String where(Throwable failure) {
    Throwable cause = withoutWrapper(failure);
    StackTraceElement[] trace = cause.getStackTrace();
    return cause.getClass().getName() + (trace.length == 0 ? "" : " at " + trace[0]);
  }

  private static Throwable withoutWrapper(Throwable failure) {
    return failure instanceof CompletionException && failure.getCause() != null
        ? failure.getCause()
        : failure;
  }
}
