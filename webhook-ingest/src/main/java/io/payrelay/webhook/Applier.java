package io.payrelay.webhook;

import io.payrelay.payments.lifecycle.Decision;
import io.payrelay.payments.lifecycle.Decision.NextAction;
import io.payrelay.payments.lifecycle.Decision.Note;
import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.payments.lifecycle.PaymentStatus;
import io.payrelay.payments.lifecycle.Refund;
import io.payrelay.payments.lifecycle.RefundDecision;
import io.payrelay.payments.lifecycle.RefundStatus;
import io.payrelay.payments.store.FactStore;
import io.payrelay.payments.store.OperationStore;
import io.payrelay.payments.store.RefundOperationStore;
import io.payrelay.providers.WebhookEvent;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;

/**
 * Applies an event's facts in the caller's transaction and says what became of it. Stateless, safe
 * for any thread.
 */
final class Applier {

  private final FactStore facts = new FactStore();
  private final OperationStore operations = new OperationStore();
  private final RefundOperationStore refundOperations = new RefundOperationStore();

  /** What became of an event; the payment where it was found or is named. */
  record Applied(
      Disposition disposition,
      @Nullable String reason,
      @Nullable String paymentId,
      @Nullable String traceId) {}

  Applied apply(Handle tx, WebhookEvent event, Instant now) {
    if (event.facts().isEmpty()) {
      return new Applied(Disposition.UNKNOWN_TYPE, null, event.paymentId(), null);
    }
    String paymentId =
        event.paymentId() == null
            ? holder(tx, event.facts().get(0)).orElse(null)
            : event.paymentId();
    if (paymentId == null) {
      return new Applied(
          Disposition.PARKED, "no payment holds this provider transaction yet", null, null);
    }
    List<Fact> about = event.facts().stream().map(fact -> fact.about(paymentId)).toList();
    List<FactStore.Applied> applied = facts.apply(tx, about, now);
    Applied result = null;
    for (FactStore.Applied one : applied) {
      Payment before = one.before();
      Decision decision = one.decision();
      if (before == null || decision == null) {
        return new Applied(Disposition.PARKED, "no such payment yet", paymentId, null);
      }
      boolean hint =
          event.asksProvider() || one.fact().observation() == Observation.FAILURE_REPORTED;
      RefundDecision refund = one.refund();
      if (refund != null) {
        if (wantsQuery(refund, hint)) {
          refundOperations.queryNow(tx, refund.result().refundId());
        }
      } else if (wantsQuery(before, decision, hint)) {
        // An event is a hint: what it leaves open is settled by the provider's own answer.
        operations.queryNow(tx, paymentId);
      }
      Applied next = refund == null ? disposition(before, decision) : disposition(before, refund);
      if (result == null || weight(next) > weight(result)) {
        result = next;
      }
    }
    if (result == null) {
      throw new IllegalStateException("facts were given and none was applied");
    }
    return result;
  }

  private Optional<String> holder(Handle tx, Fact fact) {
    String transactionId = fact.providerTransactionId();
    return transactionId == null
        ? Optional.empty()
        : facts.holderOf(tx, fact.provider(), transactionId);
  }

  private static Applied disposition(Payment before, Decision decision) {
    Payment after = decision.result(before);
    String reason = before.status() + " to " + after.status();
    Disposition disposition = Disposition.NO_CHANGE;
    if (decision.note() == Note.CONFLICTING) {
      disposition = Disposition.CONFLICT;
      reason =
          String.join(
              ",", decision.exceptions().stream().map(one -> one.kind().name()).sorted().toList());
    } else if (!decision.states().isEmpty() || decision.note() == Note.MONEY_REVERSED) {
      disposition = Disposition.APPLIED;
    } else if (decision.note() == Note.IGNORED) {
      reason = "came after " + after.status();
    }
    return new Applied(disposition, reason, before.paymentId(), before.traceId());
  }

  private static Applied disposition(Payment before, RefundDecision refund) {
    Applied ofPayment = disposition(before, refund.ofPayment());
    Refund after = refund.result();
    String reason = "refund " + after.refundId() + " is " + after.status();
    return switch (ofPayment.disposition()) {
      case CONFLICT -> ofPayment;
      case APPLIED, NO_CHANGE, PARKED, UNMATCHED, FAILED, UNKNOWN_TYPE ->
          new Applied(
              refund.states().isEmpty() ? ofPayment.disposition() : Disposition.APPLIED,
              reason,
              before.paymentId(),
              before.traceId());
    };
  }

  /** As of charges; one that had succeeded is asked about where its failure is reported. */
  private static boolean wantsQuery(RefundDecision refund, boolean hint) {
    boolean unmoved = refund.states().isEmpty() && refund.result().status() == RefundStatus.UNKNOWN;
    return refund.next() == NextAction.QUERY && (hint || unmoved);
  }

  /** Of an event that says several things, what a person should see first counts. */
  private static int weight(Applied applied) {
    return switch (applied.disposition()) {
      case CONFLICT -> 2;
      case APPLIED -> 1;
      case NO_CHANGE, PARKED, UNMATCHED, FAILED, UNKNOWN_TYPE -> 0;
    };
  }

  private static boolean wantsQuery(Payment before, Decision decision, boolean asked) {
    if (decision.result(before).status().terminal()) {
      return false;
    }
    boolean unmoved = decision.states().isEmpty() && before.status() == PaymentStatus.UNKNOWN;
    return asked || decision.note() != Note.NONE || unmoved;
  }
}
