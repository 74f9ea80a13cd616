package io.payrelay.webhook;

import io.payrelay.payments.lifecycle.Decision;
import io.payrelay.payments.lifecycle.Decision.Note;
import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.payments.lifecycle.PaymentStatus;
import io.payrelay.payments.store.FactStore;
import io.payrelay.payments.store.OperationStore;
import java.time.Instant;
import java.util.List;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;

/**
 * Applies an event's fact in the caller's transaction and says what became of it. Stateless, safe
 * for any thread.
 */
final class Applier {

  private final FactStore facts = new FactStore();
  private final OperationStore operations = new OperationStore();

  /** What became of a fact. */
  record Applied(Disposition disposition, @Nullable String reason, @Nullable String traceId) {}

  Applied apply(Handle tx, Fact fact, Instant now) {
    FactStore.Applied applied = facts.apply(tx, List.of(fact), now).get(0);
    Payment before = applied.before();
    Decision decision = applied.decision();
    if (before == null || decision == null) {
      return new Applied(Disposition.PARKED, "no such payment yet", null);
    }
    if (wantsQuery(before, fact, decision)) {
      // An event is a hint: what it contradicts is settled by the provider's own answer.
      operations.queryNow(tx, before.paymentId());
    }
    Payment after = decision.result(before);
    String reason = before.status() + " to " + after.status();
    if (decision.note() == Note.CONFLICTING) {
      String kinds =
          String.join(
              ",", decision.exceptions().stream().map(one -> one.kind().name()).sorted().toList());
      return new Applied(Disposition.CONFLICT, kinds, before.traceId());
    }
    if (!decision.states().isEmpty() || decision.note() == Note.MONEY_REVERSED) {
      return new Applied(Disposition.APPLIED, reason, before.traceId());
    }
    return new Applied(
        Disposition.NO_CHANGE,
        decision.note() == Note.IGNORED ? "came after " + after.status() : reason,
        before.traceId());
  }

  private static boolean wantsQuery(Payment before, Fact fact, Decision decision) {
    if (decision.result(before).status().terminal()) {
      return false;
    }
    boolean unmoved = decision.states().isEmpty() && before.status() == PaymentStatus.UNKNOWN;
    return decision.note() != Note.NONE
        || unmoved
        || fact.observation() == Observation.FAILURE_REPORTED;
  }
}
