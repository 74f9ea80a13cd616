package io.payrelay.chargeworker;

import io.payrelay.payments.lifecycle.Decision.NextAction;
import io.payrelay.payments.lifecycle.ExceptionCase;
import io.payrelay.payments.lifecycle.ExceptionKind;
import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.payments.money.Money;
import io.payrelay.payments.store.AttemptOutcome;
import io.payrelay.payments.store.Claim;
import io.payrelay.payments.store.ExceptionStore;
import io.payrelay.payments.store.FactStore;
import io.payrelay.payments.store.FinishedAttempt;
import io.payrelay.payments.store.OperationStore;
import io.payrelay.platform.database.LockLimit;
import io.payrelay.platform.telemetry.LogContext;
import io.payrelay.providers.ProviderResult;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.Jdbi;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sets outcomes aside that cannot be written: the payment is unknown, a person gets what was
 * observed, and the provider is asked again within the horizon. Belongs to one thread.
 */
final class RefusedOutcomes {

  private static final Logger log = LoggerFactory.getLogger(RefusedOutcomes.class);

  private static final int ID_LENGTH_MAX = 128;

  private final Jdbi jdbi;
  private final InstantSource clock;
  private final Duration lockLimit;
  private final FactStore facts = new FactStore();
  private final ExceptionStore exceptions = new ExceptionStore();
  private final OperationStore operations = new OperationStore();

  /** What was seen of the provider's charge, as far as it says. */
  private record Observed(String result, @Nullable String transactionId, @Nullable Money amount) {
    Observed {
      // It may be the very text that the database does not take.
      if (transactionId != null) {
        String printable = transactionId.replaceAll("[^\\x20-\\x7e]", "?");
        transactionId = printable.substring(0, Math.min(printable.length(), ID_LENGTH_MAX));
      }
    }
  }

  RefusedOutcomes(Jdbi jdbi, InstantSource clock, Duration lockLimit) {
    this.jdbi = jdbi;
    this.clock = clock;
    this.lockLimit = lockLimit;
  }

  /**
   * Sets it aside; what the database refuses of that too is left to the end of its lease.
   *
   * @throws RuntimeException where the database is away, or somebody holds the payment
   */
  void setAside(Outcome outcome, RuntimeException refusal) {
    String reason = Refusals.reason(refusal);
    Claim claim = outcome.claim();
    try (LogContext context = LogContext.ofPayment(claim.paymentId(), claim.traceId())) {
      context.with("reason", reason);
      log.error("outcome cannot be written: a person has to look");
      RuntimeException again =
          Refusals.refusal(
              () -> jdbi.useTransaction(tx -> write(tx, outcome, reason, /* withFact= */ true)));
      if (again != null) {
        log.error("nor can it be written as unknown sqlstate={}", Refusals.reason(again));
        again =
            Refusals.refusal(
                () -> jdbi.useTransaction(tx -> write(tx, outcome, reason, /* withFact= */ false)));
      }
      if (again != null) {
        log.error("nor can a case be opened: its lease will end", again);
      }
    }
  }

  private void write(Handle tx, Outcome outcome, String reason, boolean withFact) {
    LockLimit.set(tx, lockLimit);
    Claim claim = outcome.claim();
    Instant now = clock.instant();
    FactStore.Applied applied =
        withFact
            ? facts.apply(tx, List.of(outcome.about(unknown(claim, reason, now))), now).get(0)
            : null;
    boolean settled =
        applied != null
            && applied.decision() != null
            && applied.decision().next() == NextAction.NONE;
    Payment payment = applied == null ? null : applied.before();
    exceptions.open(
        tx, List.of(exception(outcome, reason, payment == null ? null : payment.amount(), now)));
    NextStep step =
        outcome
            .lane()
            .planner()
            .after(claim, new ProviderResult.Unknown(reason), settled, outcome.capabilities());
    operations.finish(
        tx,
        List.of(
            new FinishedAttempt(
                claim.operationId(),
                claim.attemptId(),
                AttemptOutcome.UNKNOWN,
                outcome.answer().httpStatus(),
                outcome.answer().body(),
                "the outcome could not be written: " + reason,
                // It may be the very text that the database does not take.
                null,
                step.action(),
                step.delay())));
  }

  private static Fact unknown(Claim claim, String reason, Instant now) {
    return Fact.plain(
        FactSource.WORKER,
        claim.provider(),
        claim.paymentId(),
        Observation.UNKNOWN,
        null,
        now,
        Map.of("reason", "outcome could not be written", "refused_with", reason));
  }

  private static ExceptionCase exception(
      Outcome outcome, String reason, @Nullable Money expected, Instant now) {
    Claim claim = outcome.claim();
    Observed observed = observed(outcome);
    Map<String, String> evidence = new LinkedHashMap<>();
    evidence.put("reason", "the observed outcome could not be written");
    evidence.put("refused_with", reason);
    evidence.put("result", observed.result());
    evidence.put("http_status", Integer.toString(outcome.answer().httpStatus()));
    evidence.put("attempt", Integer.toString(claim.attemptNumber()));
    evidence.put("further_charges", Integer.toString(outcome.answer().further().size()));
    String about = observed.transactionId() == null ? "" : ":" + observed.transactionId();
    String whose = claim.paymentId();
    if (outcome.refund() != null) {
      evidence.put("refund_id", outcome.refund().refundId());
      whose = "refund:" + outcome.refund().refundId();
    }
    return new ExceptionCase(
        ExceptionKind.UNRESOLVED + ":" + whose + ":not-written:" + reason + about,
        ExceptionKind.UNRESOLVED,
        claim.paymentId(),
        claim.provider(),
        observed.transactionId(),
        outcome.refund() == null ? expected : outcome.refund().amount(),
        observed.amount(),
        claim.traceId(),
        evidence,
        now);
  }

  /** The first of the results that names money, else the first. */
  private static Observed observed(Outcome outcome) {
    List<Observed> all =
        Stream.concat(Stream.of(outcome.answer().result()), outcome.answer().further().stream())
            .map(RefusedOutcomes::observed)
            .toList();
    return all.stream().filter(one -> one.amount() != null).findFirst().orElse(all.get(0));
  }

  private static Observed observed(ProviderResult result) {
    String name = result.getClass().getSimpleName();
    if (result instanceof ProviderResult.Succeeded succeeded) {
      return new Observed(name, succeeded.providerTransactionId(), succeeded.amount());
    }
    if (result instanceof ProviderResult.Pending pending) {
      return new Observed(name, pending.providerTransactionId(), pending.amount());
    }
    if (result instanceof ProviderResult.Declined declined) {
      return new Observed(name, declined.providerTransactionId(), declined.amount());
    }
    return new Observed(name, null, null);
  }
}
