package io.payrelay.chargeworker;

import io.payrelay.payments.store.Claim;
import io.payrelay.payments.store.EvidenceStore;
import io.payrelay.payments.store.FinishedAttempt;
import io.payrelay.platform.database.LockLimit;
import io.payrelay.platform.errors.Failures;
import io.payrelay.platform.telemetry.LogContext;
import io.payrelay.providers.ProviderResult;
import java.time.Duration;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jdbi.v3.core.Jdbi;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Outcomes that wait because somebody holds what they need: what was answered is written to their
 * attempts, which stay in flight, so that it is there should the process die. Belongs to one
 * thread.
 */
final class UnwrittenEvidence {

  private static final Logger log = LoggerFactory.getLogger(UnwrittenEvidence.class);

  /** A statement holds the bodies of all: some megabytes at most. */
  private static final int BATCH_MAX = 64;

  private final Jdbi jdbi;
  private final Duration lockLimit;
  private final EvidenceStore evidence = new EvidenceStore();

  /** Attempts without their evidence. */
  private final Set<Long> unwritten = new HashSet<>();

  /** Those of them that the next look tries; the others have their turn with their outcome. */
  private final Map<Long, Outcome> next = new LinkedHashMap<>();

  UnwrittenEvidence(Jdbi jdbi, Duration lockLimit) {
    this.jdbi = jdbi;
    this.lockLimit = lockLimit;
  }

  /**
   * Takes an outcome that waits, for the next {@link #write}; one whose evidence is there is left.
   *
   * @param begins has it not waited before?
   */
  void add(Outcome outcome, boolean begins) {
    long id = outcome.claim().attemptId();
    if (begins) {
      unwritten.add(id);
    }
    if (unwritten.contains(id)) {
      next.put(id, outcome);
    }
  }

  /** It is written itself. */
  void forget(Outcome outcome) {
    long id = outcome.claim().attemptId();
    unwritten.remove(id);
    next.remove(id);
  }

  /**
   * Writes what can be; the rest is tried again when its outcome is.
   *
   * @throws RuntimeException where the database is away: all are tried again next time
   */
  void write() {
    List<Outcome> now = List.copyOf(next.values());
    try {
      for (int from = 0; from < now.size(); from += BATCH_MAX) {
        write(now.subList(from, Math.min(from + BATCH_MAX, now.size())));
      }
    } catch (RuntimeException e) {
      if (!Failures.waitedForALock(e)) {
        throw e;
      }
      // Somebody has locked a table: the others would wait, too.
    }
    next.clear();
  }

  private void write(List<Outcome> outcomes) {
    Set<Long> heldByOthers = new HashSet<>();
    if (refusal(outcomes, heldByOthers) == null) {
      outcomes.forEach(one -> written(one, heldByOthers));
      return;
    }
    for (Outcome outcome : outcomes) {
      Set<Long> held = new HashSet<>();
      RuntimeException refusal = refusal(List.of(outcome), held);
      if (refusal != null) {
        Claim claim = outcome.claim();
        try (LogContext context = LogContext.ofPayment(claim.paymentId(), claim.traceId())) {
          context.with("reason", Refusals.reason(refusal));
          log.error("what was answered cannot be kept with its attempt until it is written");
        }
      }
      written(outcome, held);
    }
  }

  private void written(Outcome outcome, Set<Long> heldByOthers) {
    long id = outcome.claim().attemptId();
    if (!heldByOthers.contains(id)) {
      unwritten.remove(id);
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
