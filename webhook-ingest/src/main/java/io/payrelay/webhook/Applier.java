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
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
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

  /** Applies one event. */
  Applied apply(Handle tx, WebhookEvent event, Instant now) {
    return apply(tx, List.of(event), now).get(0);
  }

  /**
   * Applies events in the order given, all in a few statements.
   *
   * @return what became of each, in the same order
   */
  List<Applied> apply(Handle tx, List<WebhookEvent> events, Instant now) {
    List<@Nullable String> paymentIds = paymentIds(tx, events);
    List<Fact> about = new ArrayList<>();
    for (int i = 0; i < events.size(); i++) {
      String paymentId = paymentIds.get(i);
      if (paymentId != null) {
        events.get(i).facts().forEach(fact -> about.add(fact.about(paymentId)));
      }
    }
    Iterator<FactStore.Applied> decided =
        about.isEmpty() ? Collections.emptyIterator() : facts.apply(tx, about, now).iterator();
    Hints hints = new Hints();
    List<Applied> results = new ArrayList<>();
    for (int i = 0; i < events.size(); i++) {
      results.add(result(events.get(i), paymentIds.get(i), decided, hints));
    }
    // An event is a hint: what it leaves open is settled by the provider's own answer.
    operations.keepReferences(tx, hints.references);
    operations.queryNow(tx, hints.payments);
    operations.queryThoughSettled(tx, hints.settled);
    hints.refunds.forEach(refundId -> refundOperations.queryNow(tx, refundId));
    return results;
  }

  /** Takes what was decided on the event's facts from the iterator. */
  private static Applied result(
      WebhookEvent event,
      @Nullable String paymentId,
      Iterator<FactStore.Applied> decided,
      Hints hints) {
    if (event.facts().isEmpty()) {
      return new Applied(Disposition.UNKNOWN_TYPE, null, event.paymentId(), null);
    }
    if (paymentId == null) {
      return new Applied(
          Disposition.PARKED, "no payment holds this provider transaction yet", null, null);
    }
    Applied result = new Applied(Disposition.PARKED, "no such payment yet", paymentId, null);
    boolean found = false;
    for (int i = 0; i < event.facts().size(); i++) {
      FactStore.Applied one = decided.next();
      Payment before = one.before();
      Decision decision = one.decision();
      if (before == null || decision == null) {
        continue;
      }
      boolean hint =
          event.asksProvider() || one.fact().observation() == Observation.FAILURE_REPORTED;
      hints.keepReference(before, one.fact(), decision);
      RefundDecision refund = one.refund();
      if (refund != null) {
        if (wantsQuery(refund, hint)) {
          hints.refunds.add(refund.result().refundId());
        }
      } else if (wantsQuery(before, decision, hint)) {
        hints.payments.add(paymentId);
      } else if (decision.note() == Note.CONFLICTING) {
        hints.settled.add(paymentId);
      }
      Applied next = refund == null ? disposition(before, decision) : disposition(before, refund);
      if (!found || weight(next) > weight(result)) {
        result = next;
      }
      found = true;
    }
    return result;
  }

  /** What a batch leaves to do with the operations. */
  private static final class Hints {
    private final Set<String> payments = new TreeSet<>();
    private final Set<String> settled = new TreeSet<>();
    private final Set<String> refunds = new TreeSet<>();
    private final Map<String, String> references = new TreeMap<>();

    /**
     * What the provider calls a charge without an end yet: it may have to be asked by that name.
     */
    void keepReference(Payment before, Fact fact, Decision decision) {
      String reference = fact.providerTransactionId();
      if (reference != null
          && decision.note() != Note.CONFLICTING
          && fact.provider().equals(before.provider())
          && !decision.result(before).status().terminal()) {
        references.putIfAbsent(before.paymentId(), reference);
      }
    }
  }

  /** Of each event the payment it is about, as far as it is named or known. */
  private List<@Nullable String> paymentIds(Handle tx, List<WebhookEvent> events) {
    Map<String, String> named = new HashMap<>();
    List<@Nullable String> paymentIds = new ArrayList<>();
    for (WebhookEvent event : events) {
      String paymentId = event.paymentId();
      for (Fact fact : event.facts()) {
        if (paymentId == null && fact.providerTransactionId() != null) {
          // What this batch itself is about to write nobody can look up yet.
          String transaction = fact.provider() + ":" + fact.providerTransactionId();
          paymentId = holder(tx, fact).orElse(named.get(transaction));
        } else if (fact.observation() == Observation.SUCCEEDED && paymentId != null) {
          named.putIfAbsent(fact.provider() + ":" + fact.providerTransactionId(), paymentId);
        }
      }
      paymentIds.add(paymentId);
    }
    return paymentIds;
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
