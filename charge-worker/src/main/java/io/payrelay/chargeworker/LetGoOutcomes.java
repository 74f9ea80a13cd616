package io.payrelay.chargeworker;

import io.payrelay.payments.store.Claim;
import io.payrelay.payments.store.FinishedAttempt;
import io.payrelay.payments.store.OperationStore;
import io.payrelay.platform.database.LockLimit;
import io.payrelay.platform.errors.Failures;
import io.payrelay.providers.ProviderAnswer;
import io.payrelay.providers.ProviderResult;
import java.time.Duration;
import java.util.List;
import org.jdbi.v3.core.Jdbi;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ends the attempts of outcomes that cannot be kept while somebody holds their payment. Nothing is
 * decided of the payment, which needs its row; but what was answered is written to the attempt,
 * which does not: where the provider cannot be asked again it is the only evidence. Belongs to one
 * thread.
 */
final class LetGoOutcomes {

  private static final Logger log = LoggerFactory.getLogger(LetGoOutcomes.class);

  private static final String WHY = "let go, because somebody held the payment";

  private final Jdbi jdbi;
  private final OperationStore operations = new OperationStore();

  LetGoOutcomes(Jdbi jdbi) {
    this.jdbi = jdbi;
  }

  /**
   * Writes the evidence, as an unknown result. What the database refuses of it is left to the end
   * of its lease, with an ERROR.
   *
   * @param lockLimit how long it waits for whoever holds the operation or the attempt
   * @return false where the operation or the attempt is held, too: nothing is written
   * @throws RuntimeException where the database is away
   */
  boolean write(Outcome outcome, Duration lockLimit) {
    try {
      RuntimeException refusal =
          refusal(outcome, ResultColumns.reference(result(outcome)), lockLimit);
      if (refusal != null) {
        // It may be the very text that the database does not take.
        refusal = refusal(outcome, null, lockLimit);
      }
      if (refusal != null) {
        log.error("what was answered cannot be written: its lease will end", refusal);
      }
      return true;
    } catch (RuntimeException e) {
      if (!Failures.waitedForALock(e)) {
        throw e;
      }
      return false;
    }
  }

  private @Nullable RuntimeException refusal(
      Outcome outcome, @Nullable String reference, Duration lockLimit) {
    FinishedAttempt finished = finished(outcome, reference);
    return Refusals.refusal(
        () ->
            jdbi.useTransaction(
                tx -> {
                  LockLimit.set(tx, lockLimit);
                  operations.finish(tx, List.of(finished));
                }));
  }

  private static FinishedAttempt finished(Outcome outcome, @Nullable String reference) {
    Claim claim = outcome.claim();
    ProviderAnswer answer = outcome.answer();
    // What surely was not executed is no doubt that would have to be cleared.
    boolean unsent = result(outcome) instanceof ProviderResult.NotProcessed;
    ProviderResult left = unsent ? result(outcome) : new ProviderResult.Unknown(WHY);
    NextStep step = outcome.lane().planner().afterLettingGo(claim, left, outcome.capabilities());
    Duration lease = outcome.lane().terms().lease();
    return new FinishedAttempt(
        claim.operationId(),
        claim.attemptId(),
        ResultColumns.outcome(left),
        answer.httpStatus(),
        answer.body(),
        ResultColumns.detail(left) + "; the answer was " + says(result(outcome)),
        reference,
        step.action(),
        // Let go often it would be asked about ever later, long after its holder is gone.
        unsent || step.delay().compareTo(lease) < 0 ? step.delay() : lease);
  }

  private static String says(ProviderResult result) {
    String detail = ResultColumns.detail(result);
    return ResultColumns.outcome(result) + (detail == null ? "" : ": " + detail);
  }

  private static ProviderResult result(Outcome outcome) {
    return outcome.answer().result();
  }
}
