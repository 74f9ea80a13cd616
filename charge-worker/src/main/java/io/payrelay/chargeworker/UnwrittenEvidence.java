package io.payrelay.chargeworker;

import io.payrelay.payments.store.Claim;
import io.payrelay.payments.store.EvidenceStore;
import io.payrelay.payments.store.FinishedAttempt;
import io.payrelay.platform.database.LockLimit;
import io.payrelay.platform.errors.Failures;
import io.payrelay.platform.telemetry.LogContext;
import io.payrelay.providers.ProviderResult;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import org.jdbi.v3.core.Jdbi;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Outcomes of which too many are kept for a row that somebody holds: what was answered is written
 * to their attempts, which stay in flight, so that it is there should the process die. Belongs to
 * one thread.
 */
final class UnwrittenEvidence {

  private static final Logger log = LoggerFactory.getLogger(UnwrittenEvidence.class);

  private final Jdbi jdbi;
  private final Duration lockLimit;
  private final EvidenceStore evidence = new EvidenceStore();
  private final List<Outcome> unwritten = new ArrayList<>();

  UnwrittenEvidence(Jdbi jdbi, Duration lockLimit) {
    this.jdbi = jdbi;
    this.lockLimit = lockLimit;
  }

  void add(Outcome outcome) {
    unwritten.add(outcome);
  }

  /**
   * Writes what can be; the rest is tried again next time.
   *
   * @param kept is the outcome not written itself meanwhile?
   * @throws RuntimeException where the database is away
   */
  void write(Predicate<Outcome> kept) {
    unwritten.removeIf(kept.negate());
    if (unwritten.isEmpty()) {
      return;
    }
    try {
      Set<Long> heldByOthers = new HashSet<>();
      RuntimeException refusal = refusal(unwritten, heldByOthers);
      if (refusal == null) {
        unwritten.removeIf(one -> !heldByOthers.contains(one.claim().attemptId()));
      } else {
        oneByOne();
      }
    } catch (RuntimeException e) {
      if (!Failures.waitedForALock(e)) {
        throw e;
      }
    }
  }

  private void oneByOne() {
    for (Outcome outcome : List.copyOf(unwritten)) {
      Set<Long> heldByOthers = new HashSet<>();
      RuntimeException refusal = refusal(List.of(outcome), heldByOthers);
      if (refusal != null) {
        Claim claim = outcome.claim();
        try (LogContext context = LogContext.ofPayment(claim.paymentId(), claim.traceId())) {
          context.with("reason", Refusals.reason(refusal));
          log.error("what was answered cannot be kept with its attempt until it is written");
        }
      }
      if (heldByOthers.isEmpty()) {
        unwritten.remove(outcome);
      }
    }
  }

  private @Nullable RuntimeException refusal(List<Outcome> outcomes, Set<Long> heldByOthers) {
    List<FinishedAttempt> answered = outcomes.stream().map(UnwrittenEvidence::answered).toList();
    return Refusals.refusal(
        () ->
            heldByOthers.addAll(
                jdbi.inTransaction(
                    tx -> {
                      LockLimit.set(tx, lockLimit);
                      return evidence.keep(tx, answered);
                    })));
  }

  private static FinishedAttempt answered(Outcome outcome) {
    Claim claim = outcome.claim();
    ProviderResult result = outcome.answer().result();
    return new FinishedAttempt(
        claim.operationId(),
        claim.attemptId(),
        ResultColumns.outcome(result),
        outcome.answer().httpStatus(),
        outcome.answer().body(),
        ResultColumns.detail(result),
        ResultColumns.reference(result),
        /* next= */ null,
        Duration.ZERO);
  }
}
