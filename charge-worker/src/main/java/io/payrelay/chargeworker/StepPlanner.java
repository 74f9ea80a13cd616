package io.payrelay.chargeworker;

import io.payrelay.payments.store.Claim;
import io.payrelay.payments.store.OperationAction;
import io.payrelay.platform.lifecycle.Backoff;
import io.payrelay.providers.Capabilities;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.ProviderResult;
import java.time.Duration;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Decides what follows an attempt. The same key and bytes may be sent again while the key is safe;
 * after that the provider is only asked. Not found is not failed. Safe for any thread where the
 * random generator is.
 */
final class StepPlanner {

  /** Between two looks at a provider that may show the charge any moment. */
  private static final Duration LEAST = Duration.ofMillis(10);

  private final QuerySchedule schedule;
  private final Backoff backoff;
  private final Duration pendingExpiry;

  /**
   * A planner.
   *
   * @param backoff after calls that were not processed
   * @param pendingExpiry zero: nothing is cancelled
   */
  StepPlanner(QuerySchedule schedule, Backoff backoff, Duration pendingExpiry) {
    this.schedule = schedule;
    this.backoff = backoff;
    this.pendingExpiry = pendingExpiry;
  }

  /**
   * The result as far as it may be believed: a refusal that names no charge says nothing about an
   * earlier call that may have been executed. What ends after a decline failed for that decline's
   * reason. What can still be paid but cannot be cancelled is as failed as it will ever be.
   */
  static ProviderResult believed(Claim claim, ProviderResult result, Capabilities capabilities) {
    if (!(result instanceof ProviderResult.Declined declined)) {
      return result;
    }
    boolean call = claim.action() == OperationAction.CALL;
    if (claim.doubtful() && call && declined.providerTransactionId() == null) {
      return new ProviderResult.Unknown("refused, but an earlier call may have been executed");
    }
    if (declined.stillPayable() && capabilities.cancel()) {
      return declined;
    }
    String earlier = call ? null : claim.declinedWith();
    String code = Objects.requireNonNullElse(earlier, declined.code());
    return new ProviderResult.Declined(code, declined.providerTransactionId(), declined.amount());
  }

  /**
   * What follows.
   *
   * @param settled the payment has its end, or a person has to look at it
   */
  NextStep after(Claim claim, ProviderResult result, boolean settled, Capabilities capabilities) {
    if (settled) {
      return NextStep.CLOSE;
    }
    if (result instanceof ProviderResult.NotProcessed unsent
        && unsent.reason().equals(PaymentProvider.RETURNED_UNSENT)) {
      return NextStep.of(claim.action(), backoff.delay(0));
    }
    if (!isPositive(claim.resolveLeft())) {
      return NextStep.UNRESOLVED;
    }
    if (result instanceof ProviderResult.NotProcessed notProcessed) {
      return notProcessed(claim, notProcessed);
    }
    if (result instanceof ProviderResult.NotFound) {
      return notFound(claim, capabilities);
    }
    if (result instanceof ProviderResult.Declined declined && declined.stillPayable()) {
      return stillPayable(claim);
    }
    if (result instanceof ProviderResult.Pending && expired(claim, capabilities)) {
      return NextStep.of(OperationAction.CANCEL, Duration.ZERO);
    }
    if (capabilities.queryByPaymentId()) {
      return NextStep.of(OperationAction.QUERY, schedule.delay(claim.queryCount()));
    }
    // Nobody to ask: what the key returns is the only answer there is, where we made the call.
    return claim.callCount() > 0 && isPositive(claim.keySafeLeft()) && !claim.queriesOnly()
        ? NextStep.of(OperationAction.CALL, schedule.delay(claim.callCount() - 1))
        : NextStep.UNRESOLVED;
  }

  /**
   * What follows where the payment cannot be written now. To leave it to a person would have to be
   * written, too: it is asked about once more instead.
   */
  NextStep afterLettingGo(Claim claim, ProviderResult result, Capabilities capabilities) {
    NextStep step = after(claim, result, /* settled= */ false, capabilities);
    return step.unresolved()
        ? NextStep.of(OperationAction.QUERY, schedule.delay(claim.queryCount()))
        : step;
  }

  /** Cancelled at once where it is news; later tries keep to the schedule. */
  private NextStep stillPayable(Claim claim) {
    if (claim.action() == OperationAction.CANCEL) {
      return NextStep.of(OperationAction.QUERY, schedule.delay(claim.queryCount()));
    }
    return NextStep.of(
        OperationAction.CANCEL,
        claim.declinedWith() == null ? Duration.ZERO : schedule.delay(claim.queryCount()));
  }

  private NextStep notProcessed(Claim claim, ProviderResult.NotProcessed result) {
    boolean call = claim.action() == OperationAction.CALL;
    Duration own = call ? backoff.delay(claim.callCount() - 1) : schedule.delay(claim.queryCount());
    Duration asked = Objects.requireNonNullElse(result.retryAfter(), Duration.ZERO);
    // On top of what was asked for: all who were told the same must not come back together.
    return NextStep.of(
        call ? OperationAction.CALL : OperationAction.QUERY,
        asked.compareTo(own) > 0 ? asked.plus(backoff.delay(0)) : own);
  }

  private NextStep notFound(Claim claim, Capabilities capabilities) {
    Duration lagLeft = lagLeft(claim.sinceLastCall(), capabilities.queryLag());
    if (isPositive(lagLeft)) {
      Duration delay = schedule.delay(claim.queryCount());
      return NextStep.of(
          OperationAction.QUERY, delay.compareTo(lagLeft) > 0 ? lagLeft.plus(LEAST) : delay);
    }
    // A key that was never used is safe, however short its life.
    return !claim.queriesOnly() && (claim.callCount() == 0 || isPositive(claim.keySafeLeft()))
        ? NextStep.of(OperationAction.CALL, Duration.ZERO)
        : NextStep.UNRESOLVED;
  }

  private boolean expired(Claim claim, Capabilities capabilities) {
    Duration sinceLastCall = claim.sinceLastCall();
    return capabilities.cancel()
        && isPositive(pendingExpiry)
        && claim.action() == OperationAction.QUERY
        && sinceLastCall != null
        && sinceLastCall.compareTo(pendingExpiry) > 0;
  }

  private static Duration lagLeft(@Nullable Duration sinceLastCall, Duration lag) {
    return sinceLastCall == null ? Duration.ZERO : lag.minus(sinceLastCall);
  }

  private static boolean isPositive(Duration duration) {
    return !duration.isNegative() && !duration.isZero();
  }
}
