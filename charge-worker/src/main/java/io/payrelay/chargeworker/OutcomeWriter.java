package io.payrelay.chargeworker;

import io.payrelay.payments.lifecycle.Decision.NextAction;
import io.payrelay.payments.lifecycle.ExceptionCase;
import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.store.AttemptOutcome;
import io.payrelay.payments.store.Claim;
import io.payrelay.payments.store.FactStore;
import io.payrelay.payments.store.FinishedAttempt;
import io.payrelay.payments.store.OperationAction;
import io.payrelay.payments.store.OperationStore;
import io.payrelay.payments.store.PaymentStore;
import io.payrelay.platform.database.LockLimit;
import io.payrelay.platform.errors.Failures;
import io.payrelay.platform.lifecycle.Worker;
import io.payrelay.platform.telemetry.LogContext;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.ProviderAnswer;
import io.payrelay.providers.ProviderResult;
import io.payrelay.providers.ResultFacts;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.Jdbi;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes outcomes: facts, attempts and what is next, many in one transaction, and one by one where
 * that fails. What cannot be written now is kept: it is bounded by the calls in flight. What never
 * can be is set aside. Steps on one thread; {@link #add} is safe for any.
 */
final class OutcomeWriter implements Worker {

  private static final Logger log = LoggerFactory.getLogger(OutcomeWriter.class);

  private static final int BATCH_MAX = 256;

  /** All of a batch wait for one payment that somebody holds; longer than our own transactions. */
  private static final Duration LOCK_LIMIT = Duration.ofMillis(100);

  private final Jdbi jdbi;
  private final ChargeMetrics metrics;
  private final InstantSource clock;
  private final ChargeFaults faults;
  private final Runnable written;
  private final RefusedOutcomes refused;
  private final HeldOutcomes held;
  private final PaymentStore payments = new PaymentStore();
  private final FactStore facts = new FactStore();
  private final OperationStore operations = new OperationStore();
  private final ConcurrentLinkedQueue<Outcome> queue = new ConcurrentLinkedQueue<>();
  private final List<Outcome> batch = new ArrayList<>();

  /** An outcome with what is believed of it. */
  private record Result(Outcome outcome, ProviderResult result, List<Fact> facts) {}

  OutcomeWriter(
      Jdbi jdbi,
      ChargeMetrics metrics,
      InstantSource clock,
      ChargeFaults faults,
      Runnable written) {
    this.jdbi = jdbi;
    this.metrics = metrics;
    this.clock = clock;
    this.faults = faults;
    this.written = written;
    this.refused = new RefusedOutcomes(jdbi, clock, LOCK_LIMIT);
    this.held = new HeldOutcomes(jdbi);
  }

  /** Takes an outcome; the loop is to be woken. */
  void add(Outcome outcome) {
    queue.add(outcome);
  }

  @Override
  public int runOnce() {
    while (batch.size() < BATCH_MAX) {
      Outcome next = queue.poll();
      if (next == null) {
        break;
      }
      batch.add(next);
    }
    int count = batch.size();
    if (count > 0) {
      writeAll(batch, /* patient= */ true);
    }
    held.renew();
    List<Outcome> again = new ArrayList<>(held.due(BATCH_MAX));
    boolean tried = !again.isEmpty();
    if (tried) {
      writeAll(again, /* patient= */ false);
    }
    if (count > 0 || tried) {
      written.run();
    }
    return count;
  }

  /** Outcomes that wait because somebody holds their payment; safe for any thread. */
  int heldCount() {
    return held.count();
  }

  /**
   * Writes them and empties the list; where the database is away, what is not written stays in it.
   *
   * @param patient whether a payment that somebody holds is waited for, for a moment
   */
  private void writeAll(List<Outcome> outcomes, boolean patient) {
    RuntimeException failure = together(outcomes, patient);
    if (failure != null && patient && Failures.waitedForALock(failure)) {
      failure = together(outcomes, false);
    }
    if (failure != null) {
      oneByOne(outcomes);
    }
  }

  /** Returns why they cannot be written together. */
  private @Nullable RuntimeException together(List<Outcome> outcomes, boolean patient) {
    List<Outcome> busy;
    try {
      busy = write(outcomes, patient);
    } catch (RuntimeException e) {
      if (!Refusals.concernsOne(e) && !Failures.waitedForALock(e)) {
        throw e;
      }
      return e;
    }
    if (busy.size() < outcomes.size()) {
      faults.reached(ChargeFaults.Point.AFTER_WRITE);
    }
    busy.forEach(this::keep);
    outcomes.stream().filter(one -> !busy.contains(one)).forEach(this::done);
    outcomes.clear();
    return null;
  }

  private void oneByOne(List<Outcome> outcomes) {
    while (!outcomes.isEmpty()) {
      Outcome outcome = outcomes.get(0);
      if (alone(outcome)) {
        done(outcome);
      } else {
        keep(outcome);
      }
      outcomes.remove(0);
    }
  }

  /** Writes it or sets it aside; false where somebody holds its payment. */
  private boolean alone(Outcome outcome) {
    List<Outcome> busy = new ArrayList<>();
    try {
      RuntimeException refusal =
          Refusals.refusal(() -> busy.addAll(write(List.of(outcome), false)));
      if (refusal != null) {
        refused.setAside(outcome, refusal);
      } else if (busy.isEmpty()) {
        faults.reached(ChargeFaults.Point.AFTER_WRITE);
      }
    } catch (RuntimeException e) {
      if (!Failures.waitedForALock(e)) {
        throw e;
      }
      return false;
    }
    return busy.isEmpty();
  }

  /** What is too much to keep is left to the end of its lease: the provider is asked then. */
  private void keep(Outcome outcome) {
    Claim claim = outcome.claim();
    try (LogContext context = LogContext.ofPayment(claim.paymentId(), claim.traceId())) {
      context.with("provider", claim.provider());
      if (held.keep(outcome)) {
        log.debug("outcome waits: somebody holds its payment");
      } else {
        log.warn("outcome let go: somebody holds its payment, and too many of them");
        done(outcome);
      }
    }
  }

  /** Writes those that can be; returns those whose payments somebody else holds. */
  private List<Outcome> write(List<Outcome> outcomes, boolean patient) {
    Instant now = clock.instant();
    List<Outcome> busy = new ArrayList<>();
    List<FactStore.Applied> applied =
        jdbi.inTransaction(
            tx -> {
              LockLimit.set(tx, LOCK_LIMIT);
              if (!patient) {
                Set<String> others =
                    payments.lockedByOthers(
                        tx, outcomes.stream().map(one -> one.claim().paymentId()).toList());
                outcomes.stream()
                    .filter(one -> others.contains(one.claim().paymentId()))
                    .forEach(busy::add);
              }
              List<Result> results =
                  outcomes.stream()
                      .filter(one -> !busy.contains(one))
                      .map(one -> result(one, now))
                      .toList();
              return write(tx, results, now);
            });
    tellOfCases(applied);
    return busy;
  }

  private List<FactStore.Applied> write(Handle tx, List<Result> results, Instant now) {
    List<Fact> observed = results.stream().flatMap(result -> result.facts().stream()).toList();
    List<FactStore.Applied> applied = new ArrayList<>();
    if (!observed.isEmpty()) {
      applied.addAll(facts.apply(tx, observed, now));
    }
    List<Fact> unresolved = new ArrayList<>();
    List<FinishedAttempt> finished = new ArrayList<>(results.size());
    int from = 0;
    for (Result result : results) {
      int to = from + result.facts().size();
      boolean settled = applied.subList(from, to).stream().anyMatch(OutcomeWriter::settles);
      from = to;
      NextStep step =
          result
              .outcome()
              .lane()
              .planner()
              .after(
                  result.outcome().claim(),
                  result.result(),
                  settled,
                  result.outcome().capabilities());
      if (step.unresolved()) {
        unresolved.add(unresolved(result.outcome(), now));
      }
      finished.add(finished(result, step));
    }
    if (!unresolved.isEmpty()) {
      applied.addAll(facts.apply(tx, unresolved, now));
    }
    operations.finish(tx, finished);
    return applied;
  }

  private static boolean settles(FactStore.Applied applied) {
    return applied.decision() != null && applied.decision().next() == NextAction.NONE;
  }

  private static Result result(Outcome outcome, Instant now) {
    Claim claim = outcome.claim();
    ProviderResult believed =
        StepPlanner.believed(
            claim, outcome.answer().result(), outcome.lane().provider().capabilities());
    boolean query = claim.action() != OperationAction.CALL;
    if (query && believed instanceof ProviderResult.Unknown) {
      // A question without an answer says nothing about the payment.
      return new Result(outcome, believed, List.of());
    }
    FactSource source = query ? FactSource.QUERY : FactSource.RESPONSE;
    String attempt = Integer.toString(claim.attemptNumber());
    ProviderAnswer answer =
        believed == outcome.answer().result()
            ? outcome.answer()
            : new ProviderAnswer(
                believed,
                outcome.answer().further(),
                outcome.answer().httpStatus(),
                outcome.answer().body());
    List<Fact> facts =
        outcome.refund() == null
            ? ResultFacts.of(source, claim.provider(), claim.paymentId(), answer, attempt, now)
            : RefundFacts.of(source, outcome.refund(), answer, attempt, now);
    return new Result(outcome, believed, facts);
  }

  private static Fact unresolved(Outcome outcome, Instant now) {
    Claim claim = outcome.claim();
    return outcome.about(
        Fact.plain(
            FactSource.WORKER,
            claim.provider(),
            claim.paymentId(),
            Observation.UNRESOLVED,
            null,
            now,
            Map.of(
                "calls", Integer.toString(claim.callCount()),
                "queries", Integer.toString(claim.queryCount()),
                "last_result", attemptOutcome(outcome.answer().result()).name(),
                "key_safe", Boolean.toString(!claim.keySafeLeft().isNegative()))));
  }

  private static FinishedAttempt finished(Result result, NextStep step) {
    Claim claim = result.outcome().claim();
    return new FinishedAttempt(
        claim.operationId(),
        claim.attemptId(),
        attemptOutcome(result.result()),
        result.outcome().answer().httpStatus(),
        result.outcome().answer().body(),
        detail(result.result()),
        reference(result.result()),
        step.action(),
        step.delay());
  }

  private void done(Outcome outcome) {
    held.forget(outcome);
    Claim claim = outcome.claim();
    ProviderResult result = outcome.answer().result();
    AttemptOutcome how = attemptOutcome(result);
    metrics.call(claim.provider(), outcome.refund() != null, claim.action(), how, outcome.took());
    try (LogContext context = LogContext.ofPayment(claim.paymentId(), claim.traceId())) {
      context.with("attempt", Integer.toString(claim.attemptNumber()));
      log.debug(
          "action={} outcome={} http_status={} took_ms={}",
          claim.action(),
          how,
          outcome.answer().httpStatus(),
          outcome.took().toMillis());
      if (result instanceof ProviderResult.NotProcessed notProcessed
          && notProcessed.reason().equals(PaymentProvider.AUTHENTICATION_REFUSED)) {
        metrics.authenticationRefused();
        log.warn("provider={} refuses our API key: charges wait for a right one", claim.provider());
      }
    }
    outcome.lane().inFlight().add(-1);
  }

  private static void tellOfCases(List<FactStore.Applied> applied) {
    for (FactStore.Applied one : applied) {
      if (one.decision() == null || one.before() == null) {
        continue;
      }
      for (ExceptionCase opened : one.decision().exceptions()) {
        try (LogContext context =
            LogContext.ofPayment(one.before().paymentId(), one.before().traceId())) {
          context.with("kind", opened.kind().name());
          log.error("a person has to look: {}", opened.businessKey());
        }
      }
    }
  }

  private static AttemptOutcome attemptOutcome(ProviderResult result) {
    if (result instanceof ProviderResult.Succeeded) {
      return AttemptOutcome.SUCCEEDED;
    }
    if (result instanceof ProviderResult.Pending) {
      return AttemptOutcome.PENDING;
    }
    if (result instanceof ProviderResult.Declined) {
      return AttemptOutcome.DECLINED;
    }
    if (result instanceof ProviderResult.NotFound) {
      return AttemptOutcome.NOT_FOUND;
    }
    if (result instanceof ProviderResult.NotProcessed notProcessed) {
      return notProcessed.reason().equals(PaymentProvider.RETURNED_UNSENT)
          ? AttemptOutcome.RETURNED_UNSENT
          : AttemptOutcome.NOT_PROCESSED;
    }
    return AttemptOutcome.UNKNOWN;
  }

  /** The provider's own id of the charge, where the answer names it. */
  private static @Nullable String reference(ProviderResult result) {
    if (result instanceof ProviderResult.Succeeded succeeded) {
      return succeeded.providerTransactionId();
    }
    if (result instanceof ProviderResult.Pending pending) {
      return pending.providerTransactionId();
    }
    return result instanceof ProviderResult.Declined declined
        ? declined.providerTransactionId()
        : null;
  }

  private static @Nullable String detail(ProviderResult result) {
    if (result instanceof ProviderResult.NotProcessed notProcessed) {
      return notProcessed.reason();
    }
    if (result instanceof ProviderResult.Unknown unknown) {
      return unknown.reason();
    }
    if (result instanceof ProviderResult.KeyRefused refused) {
      return "key refused: " + refused.reason();
    }
    return result instanceof ProviderResult.Declined declined ? declined.code() : null;
  }
}
