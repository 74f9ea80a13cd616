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
import io.payrelay.platform.lifecycle.Worker;
import io.payrelay.platform.telemetry.LogContext;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.ProviderAnswer;
import io.payrelay.providers.ProviderResult;
import io.payrelay.providers.ResultFacts;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
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

  private final Jdbi jdbi;
  private final StepPlanner planner;
  private final InFlight inFlight;
  private final ChargeMetrics metrics;
  private final InstantSource clock;
  private final ChargeFaults faults;
  private final Runnable written;
  private final RefusedOutcomes refused;
  private final FactStore facts = new FactStore();
  private final OperationStore operations = new OperationStore();
  private final ConcurrentLinkedQueue<Outcome> queue = new ConcurrentLinkedQueue<>();
  private final List<Outcome> batch = new ArrayList<>();

  /** An outcome with what is believed of it. */
  private record Result(Outcome outcome, ProviderResult result, List<Fact> facts) {}

  OutcomeWriter(
      Jdbi jdbi,
      StepPlanner planner,
      InFlight inFlight,
      ChargeMetrics metrics,
      InstantSource clock,
      ChargeFaults faults,
      Runnable written) {
    this.jdbi = jdbi;
    this.planner = planner;
    this.inFlight = inFlight;
    this.metrics = metrics;
    this.clock = clock;
    this.faults = faults;
    this.written = written;
    this.refused = new RefusedOutcomes(jdbi, planner, clock);
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
    if (batch.isEmpty()) {
      return 0;
    }
    int count = batch.size();
    if (!writeTogether()) {
      writeOneByOne();
    }
    written.run();
    return count;
  }

  private boolean writeTogether() {
    try {
      write(batch);
    } catch (RuntimeException e) {
      if (!Refusals.concernsOne(e)) {
        throw e;
      }
      return false;
    }
    faults.reached(ChargeFaults.Point.AFTER_WRITE);
    batch.forEach(this::done);
    batch.clear();
    return true;
  }

  private void writeOneByOne() {
    while (!batch.isEmpty()) {
      Outcome outcome = batch.get(0);
      RuntimeException refusal = Refusals.refusal(() -> write(List.of(outcome)));
      if (refusal == null) {
        faults.reached(ChargeFaults.Point.AFTER_WRITE);
      } else {
        refused.setAside(outcome, refusal);
      }
      done(outcome);
      batch.remove(0);
    }
  }

  private void write(List<Outcome> outcomes) {
    Instant now = clock.instant();
    List<Result> results = outcomes.stream().map(outcome -> result(outcome, now)).toList();
    List<FactStore.Applied> applied = jdbi.inTransaction(tx -> write(tx, results, now));
    warnOfCases(applied);
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
          planner.after(
              result.outcome().claim(), result.result(), settled, result.outcome().capabilities());
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
    ProviderResult believed = StepPlanner.believed(claim, outcome.answer().result());
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
        step.action(),
        step.delay());
  }

  private void done(Outcome outcome) {
    Claim claim = outcome.claim();
    ProviderResult result = outcome.answer().result();
    AttemptOutcome how = attemptOutcome(result);
    metrics.call(claim.provider(), claim.action(), how, outcome.took());
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
    inFlight.add(-1);
  }

  private static void warnOfCases(List<FactStore.Applied> applied) {
    for (FactStore.Applied one : applied) {
      if (one.decision() == null || one.before() == null) {
        continue;
      }
      for (ExceptionCase opened : one.decision().exceptions()) {
        try (LogContext context =
            LogContext.ofPayment(one.before().paymentId(), one.before().traceId())) {
          context.with("kind", opened.kind().name());
          log.warn("a person has to look: {}", opened.businessKey());
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
