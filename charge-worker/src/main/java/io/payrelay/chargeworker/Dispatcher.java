package io.payrelay.chargeworker;

import io.payrelay.payments.lifecycle.Refund;
import io.payrelay.payments.store.Claim;
import io.payrelay.payments.store.OperationStore;
import io.payrelay.platform.lifecycle.Worker;
import io.payrelay.providers.ChargeCall;
import io.payrelay.providers.ChargeRef;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.ProviderAnswer;
import io.payrelay.providers.ProviderResult;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import org.jdbi.v3.core.Jdbi;
import org.jspecify.annotations.Nullable;

/**
 * Claims due operations and starts their calls; first ones and repeated ones alike. Steps on one
 * thread; answers are handed on by the provider's threads.
 */
final class Dispatcher implements Worker {

  private final Jdbi jdbi;
  private final List<ProviderLane> lanes;
  private final ChargeConfig config;
  private final ChargeFaults faults;
  private final Consumer<Outcome> outcomes;
  private final BooleanSupplier outcomesWait;
  private final OperationStore operations = new OperationStore();

  /**
   * A dispatcher.
   *
   * @param outcomesWait nothing is claimed while what is answered cannot be written
   */
  Dispatcher(
      Jdbi jdbi,
      List<ProviderLane> lanes,
      ChargeConfig config,
      ChargeFaults faults,
      Consumer<Outcome> outcomes,
      BooleanSupplier outcomesWait) {
    this.jdbi = jdbi;
    this.lanes = List.copyOf(lanes);
    this.config = config;
    this.faults = faults;
    this.outcomes = outcomes;
    this.outcomesWait = outcomesWait;
  }

  @Override
  public int runOnce() {
    if (outcomesWait.getAsBoolean()) {
      return 0;
    }
    int started = 0;
    for (ProviderLane lane : lanes) {
      started += dispatch(lane);
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
      List<Claim> claims =
          jdbi.inTransaction(
              tx -> {
                List<Claim> claimed =
                    operations.claim(tx, lane.provider().name(), taken, lane.terms());
                refunds.putAll(RefundCalls.of(tx, claimed));
                return claimed;
              });
      used = claims.size();
      lane.inFlight().add(used);
      if (used > 0) {
        faults.reached(ChargeFaults.Point.AFTER_CLAIM);
      }
      claims.forEach(claim -> start(lane, claim, refunds.get(claim.operationId()), beforeNs));
      return used;
    } finally {
      lane.giveBack(taken, used);
    }
  }

  private void start(ProviderLane lane, Claim claim, @Nullable Refund refund, long beforeNs) {
    long startedNs = System.nanoTime();
    CompletableFuture<ProviderAnswer> call;
    try {
      call =
          refund == null
              ? call(lane.provider(), claim, beforeNs)
              : RefundCalls.call(
                  lane.provider(),
                  claim,
                  refund,
                  beforeNs + sendLeft(claim).toNanos(),
                  config.callTimeout());
    } catch (RuntimeException e) {
      call = CompletableFuture.failedFuture(e);
    }
    CompletableFuture<Void> unused =
        call.handle((answer, failure) -> answer == null ? adapterFailed(failure) : answer)
            .thenAccept(
                answer -> {
                  Duration took = Duration.ofNanos(System.nanoTime() - startedNs);
                  lane.report(answer.result(), took);
                  faults.reached(ChargeFaults.Point.AFTER_ANSWER);
                  outcomes.accept(new Outcome(lane, claim, answer, took, refund));
                });
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

  private static ProviderAnswer adapterFailed(Throwable failure) {
    return ProviderAnswer.without(
        new ProviderResult.Unknown("adapter failed: " + failure.getClass().getSimpleName()));
  }
}
