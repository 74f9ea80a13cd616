package io.payrelay.chargeworker;

import io.payrelay.payments.lifecycle.Decision.NextAction;
import io.payrelay.payments.lifecycle.ExceptionCase;
import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
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
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.Jdbi;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes outcomes: facts, attempts and what is next, many in one transaction, and one by one where
 * that fails. What cannot be written now is kept, its evidence is written at once, and its lease is
 * renewed: it is bounded by the calls in flight. What never can be is set aside. Steps on one
 * thread; {@link #add}, {@link #stuck} and {@link #heldCount} are safe for any.
 */
final class OutcomeWriter implements Worker {

  private static final Logger log = LoggerFactory.getLogger(OutcomeWriter.class);

  private static final int BATCH_MAX = 256;

  /** All of a batch wait for one payment that somebody holds; longer than our own transactions. */
  private static final Duration LOCK_LIMIT = Duration.ofMillis(100);

  /** What waits is tried again soon; outcomes of other providers are behind it meanwhile. */
  private static final Duration IMPATIENT_LOCK_LIMIT = Duration.ofMillis(25);

  private static final Duration LET_GO_LIMIT = Duration.ofSeconds(5);

  /** Letting go must not hold up the others: what cannot be done at once waits with the rest. */
  private static final Duration LET_GO_LOCK_LIMIT = Duration.ofMillis(5);

  /** So many may wait alone in a step, for as long as the limit: all others wait behind them. */
  private static final int WAITING_MAX = 3;

  private final Jdbi jdbi;
  private final ChargeMetrics metrics;
  private final InstantSource clock;
  private final ChargeFaults faults;
  private final Runnable written;
  private final RefusedOutcomes refused;
  private final HeldOutcomes held;
  private final LetGoOutcomes letGo;
  private final UnwrittenEvidence evidence;
  private final PaymentStore payments = new PaymentStore();
  private final FactStore facts = new FactStore();
  private final OperationStore operations = new OperationStore();
  private final ConcurrentLinkedQueue<Outcome> queue = new ConcurrentLinkedQueue<>();
  private final List<Outcome> batch = new ArrayList<>();
  private int waited;
  private volatile boolean failing;

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
    this.held = new HeldOutcomes(jdbi, LOCK_LIMIT);
    this.letGo = new LetGoOutcomes(jdbi);
    this.evidence = new UnwrittenEvidence(jdbi, IMPATIENT_LOCK_LIMIT);
  }

  /** Takes an outcome; the loop is to be woken. */
  void add(Outcome outcome) {
    queue.add(outcome);
  }

  /**
   * Could the last step write nothing, as where the database is away? Then nobody is to call for
   * more: what is answered would wait here, and its lease would end.
   */
  boolean stuck() {
    return failing;
  }

  @Override
  public int runOnce() {
    int count;
    try {
      count = step();
    } catch (RuntimeException e) {
      failing = true;
      throw e;
    }
    if (failing) {
      failing = false;
      written.run();
    }
    return count;
  }

  private int step() {
    while (batch.size() < BATCH_MAX) {
      Outcome next = queue.poll();
      if (next == null) {
        break;
      }
      batch.add(next);
    }
    // First: what cannot be written is not to lose its lease beside.
    held.renew(failing ? waiting() : List.of());
    waited = 0;
    int count = batch.size();
    if (count > 0) {
      writeAll(batch, /* patient= */ true);
    }
    List<Outcome> again = new ArrayList<>(held.due(BATCH_MAX));
    boolean tried = !again.isEmpty();
    if (tried) {
      writeAll(again, /* patient= */ false);
    }
    evidence.write();
    if (count > 0 || tried) {
      written.run();
    }
    return count;
  }

  private List<Outcome> waiting() {
    List<Outcome> waiting = new ArrayList<>(batch);
    waiting.addAll(queue);
    return waiting;
  }

  /**
   * After the last step: what cannot be kept any longer leaves its evidence, as far as nobody is in
   * the way of that too, and for a short while.
   */
  void letGoOfAll() {
    List<Outcome> left = new ArrayList<>(held.all());
    left.addAll(batch);
    left.addAll(queue);
    long startNs = System.nanoTime();
    for (Outcome outcome : left) {
      if (System.nanoTime() - startNs > LET_GO_LIMIT.toNanos()) {
        log.warn("stopping without the evidence of all answers: their leases will end");
        return;
      }
      if (!letGo.write(outcome, LOCK_LIMIT)) {
        Claim claim = outcome.claim();
        try (LogContext context = LogContext.ofPayment(claim.paymentId(), claim.traceId())) {
          context.with("provider", claim.provider());
          log.warn("stopping without the evidence of an answer: somebody holds its operation");
        }
      }
    }
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
    outcomes.stream().filter(one -> !busy.contains(one)).forEach(this::done);
    outcomes.retainAll(busy);
    while (!outcomes.isEmpty()) {
      keep(outcomes.get(0));
      outcomes.remove(0);
    }
    return null;
  }

  /**
   * Writes each alone. One that waits for something else than its payment is kept; where these are
   * too many, all that are left are tried next: whatever they wait for, the step has its end. Their
   * providers have the less in flight.
   */
  private void oneByOne(List<Outcome> outcomes) {
    Set<ProviderLane> waiting = new HashSet<>();
    // What is behind one that waits, of the same provider, may wait for the same: others first.
    oneByOne(outcomes, waiting, /* others= */ true);
    oneByOne(outcomes, waiting, /* others= */ false);
  }

  private void oneByOne(List<Outcome> outcomes, Set<ProviderLane> waiting, boolean others) {
    Iterator<Outcome> each = outcomes.iterator();
    while (each.hasNext()) {
      Outcome outcome = each.next();
      if (others && waiting.contains(outcome.lane())) {
        continue;
      }
      if (waited >= WAITING_MAX) {
        keepUntried(outcome);
        each.remove();
        continue;
      }
      try {
        if (alone(outcome)) {
          done(outcome);
        } else {
          keep(outcome);
        }
      } catch (RuntimeException e) {
        if (!Failures.waitedForALock(e)) {
          throw e;
        }
        waited++;
        waiting.add(outcome.lane());
        keepWaiting(outcome);
      }
      each.remove();
    }
  }

  private void keepUntried(Outcome outcome) {
    evidence.add(outcome, !held.holds(outcome));
    held.keepUntried(outcome);
  }

  /** It is not let go: what was answered is with its attempt as soon as nobody is in the way. */
  private void keepWaiting(Outcome outcome) {
    evidence.add(outcome, !held.holds(outcome));
    held.keep(outcome);
  }

  /**
   * Writes it or sets it aside; false where somebody holds its payment or its operation.
   *
   * @throws RuntimeException where the database is away, or it waited for another lock
   */
  private boolean alone(Outcome outcome) {
    List<Outcome> busy = new ArrayList<>();
    RuntimeException refusal = Refusals.refusal(() -> busy.addAll(write(List.of(outcome), false)));
    if (refusal != null) {
      refused.setAside(outcome, refusal);
    } else if (busy.isEmpty()) {
      faults.reached(ChargeFaults.Point.AFTER_WRITE);
    }
    return busy.isEmpty();
  }

  /** What is too much to keep leaves its evidence with its attempt: the provider is asked again. */
  private void keep(Outcome outcome) {
    Claim claim = outcome.claim();
    try (LogContext context = LogContext.ofPayment(claim.paymentId(), claim.traceId())) {
      context.with("provider", claim.provider());
      if (!held.isFullFor(outcome)) {
        keepWaiting(outcome);
        log.debug("outcome waits: somebody holds its payment");
      } else if (letGo.write(outcome, LET_GO_LOCK_LIMIT)) {
        log.warn("outcome let go: somebody holds its payment, and too many of them");
        done(outcome);
      } else {
        // As many as may be in flight, and no more.
        keepWaiting(outcome);
        log.warn("outcome waits: somebody holds its payment and its operation, as of too many");
      }
    }
  }

  /** Writes those that can be; returns those whose payments or operations somebody else holds. */
  private List<Outcome> write(List<Outcome> outcomes, boolean patient) {
    Instant now = clock.instant();
    List<Outcome> busy = new ArrayList<>();
    List<FactStore.Applied> applied =
        jdbi.inTransaction(
            tx -> {
              LockLimit.set(tx, patient ? LOCK_LIMIT : IMPATIENT_LOCK_LIMIT);
              if (!patient) {
                busy.addAll(heldByOthers(tx, outcomes));
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

  private List<Outcome> heldByOthers(Handle tx, List<Outcome> outcomes) {
    Set<String> ofPayments =
        payments.lockedByOthers(tx, outcomes.stream().map(one -> one.claim().paymentId()).toList());
    Set<Long> ofOperations =
        operations.lockedByOthers(
            tx,
            outcomes.stream()
                .filter(one -> !ofPayments.contains(one.claim().paymentId()))
                .map(one -> one.claim().operationId())
                .toList());
    return outcomes.stream()
        .filter(
            one ->
                ofPayments.contains(one.claim().paymentId())
                    || ofOperations.contains(one.claim().operationId()))
        .toList();
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
        unresolved.add(result.outcome().unresolved(now));
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
    return new Result(outcome, believed, query ? asked(facts, outcome.askedAt(now)) : facts);
  }

  private static List<Fact> asked(List<Fact> facts, Instant at) {
    return facts.stream().map(fact -> fact.asked(at)).toList();
  }

  private static FinishedAttempt finished(Result result, NextStep step) {
    Claim claim = result.outcome().claim();
    return new FinishedAttempt(
        claim.operationId(),
        claim.attemptId(),
        ResultColumns.outcome(result.result()),
        result.outcome().answer().httpStatus(),
        result.outcome().answer().body(),
        ResultColumns.detail(result.result()),
        ResultColumns.reference(result.result()),
        step.action(),
        step.delay());
  }

  private void done(Outcome outcome) {
    held.forget(outcome);
    evidence.forget(outcome);
    Claim claim = outcome.claim();
    ProviderResult result = outcome.answer().result();
    AttemptOutcome how = ResultColumns.outcome(result);
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
}
