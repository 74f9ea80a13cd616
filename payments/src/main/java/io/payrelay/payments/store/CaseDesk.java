package io.payrelay.payments.store;

import io.payrelay.payments.lifecycle.Decision;
import io.payrelay.payments.lifecycle.ExceptionCase;
import io.payrelay.payments.lifecycle.ExceptionKind;
import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.payments.lifecycle.PaymentStatus;
import io.payrelay.payments.money.Money;
import io.payrelay.payments.store.CaseResolution.Adopt;
import io.payrelay.payments.store.CaseResolution.Failed;
import io.payrelay.payments.store.CaseResolution.Refund;
import io.payrelay.payments.store.CaseResolution.Succeeded;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;

/**
 * Resolves exception cases. What a person says is a fact like any other: {@code PaymentLifecycle}
 * decides what it means, and where that is not what the person wanted, nothing is written. Every
 * deed leaves a row of operator_action. Stateless, safe for any thread.
 */
public final class CaseDesk {

  private final PaymentStore payments = new PaymentStore();
  private final CaseStore cases = new CaseStore();
  private final FactStore facts = new FactStore();
  private final QueryRequests queries = new QueryRequests();
  private final RefundRequests refunds = new RefundRequests();
  private final OperatorActionStore actions = new OperatorActionStore();

  /** In the evidence of cases that are about a refund. */
  private static final String REFUND_ID = "refund_id";

  private static final String GIVEN_UP = "given up";

  /** A provider's payment that became one of ours: its waiting webhook events now have a home. */
  public record Adopted(
      String paymentId,
      String provider,
      String providerTransactionId,
      @Nullable String namedPaymentId) {}

  /**
   * What was done; it holds once the transaction is committed.
   *
   * @param did a sentence each
   * @param closed whether the case is resolved; a question leaves it open until it is answered
   */
  public record Resolved(
      StoredCase found,
      List<String> did,
      boolean closed,
      QueryRequests.@Nullable Asked asked,
      @Nullable Adopted adopted) {}

  private record Forgotten(boolean isSo, String state) {}

  /** What an action needs. */
  private record Work(
      Handle tx, StoredCase found, @Nullable Payment payment, Person person, Instant now) {

    Payment known(CaseAction action) {
      if (payment == null) {
        throw refused(
            "Case %d is about no payment of ours: %s needs one"
                .formatted(found.id(), action.option()));
      }
      return payment;
    }

    /** What is said of a refund must not be taken for said of its payment. */
    Payment ofPayment(CaseAction action) {
      if (found.evidence().containsKey(REFUND_ID)) {
        throw refused(
            "Case %d is about refund %s, not about a charge: it takes --query or --close, not %s"
                .formatted(found.id(), found.evidence().get(REFUND_ID), action.option()));
      }
      return known(action);
    }
  }

  /**
   * Resolves a case, or says why it does not.
   *
   * @throws PayrelayException REJECTED with a sentence where the action does not fit, somebody else
   *     was first, or the lifecycle does not accept it; the transaction is to be rolled back
   */
  public Resolved resolve(
      Handle tx, long caseId, CaseResolution resolution, Person person, Instant now) {
    StoredCase seen =
        cases.find(tx, caseId).orElseThrow(() -> refused("There is no exception case " + caseId));
    // Payment first, then case: the order of everybody who opens cases.
    Payment payment =
        seen.paymentId() == null
            ? null
            : payments.lock(tx, List.of(seen.paymentId())).get(seen.paymentId());
    StoredCase found = cases.lock(tx, caseId).orElse(seen);
    if (!found.isOpen()) {
      throw refused(
          "Case %d was resolved already, by %s at %s: %s"
              .formatted(caseId, found.resolvedBy(), found.resolvedAt(), found.resolution()));
    }
    checkFits(found, resolution.action());
    Resolved resolved = act(new Work(tx, found, payment, person, now), resolution);
    if (resolved.closed()) {
      cases.resolve(tx, caseId, person.by(), resolution.action() + ": " + person.reason());
    }
    Adopted adopted = resolved.adopted();
    if (adopted != null) {
      resolveSiblings(tx, adopted, person, caseId);
    }
    actions.append(
        tx,
        OperatorAction.of(command(resolution.action()), person, String.join("; ", resolved.did()))
            .about(caseId, adopted == null ? found.paymentId() : adopted.paymentId())
            .with(resolution.arguments()));
    return resolved;
  }

  /** Resolves a case whose question was answered with an end. */
  public void closeAnswered(
      Handle tx, long caseId, QueryRequests.Asked asked, String status, Person person) {
    if (cases.lock(tx, caseId).filter(StoredCase::isOpen).isPresent()) {
      String result = "the provider's answer made %s %s".formatted(asked.subject(), status);
      cases.resolve(tx, caseId, person.by(), "QUERY: " + result + "; " + person.reason());
      actions.append(
          tx,
          OperatorAction.of(command(CaseAction.QUERY), person, result + "; resolved")
              .about(caseId, asked.paymentId()));
    }
  }

  /** The name under which an action is remembered. */
  public static String command(CaseAction action) {
    return "exceptions resolve " + action.name().toLowerCase(Locale.ROOT);
  }

  private static void checkFits(StoredCase found, CaseAction action) {
    Set<CaseAction> fitting = CaseAction.of(found.kind());
    if (!fitting.contains(action)) {
      throw refused(
          "Case %d is %s: it takes %s, not %s"
              .formatted(
                  found.id(),
                  found.kind(),
                  fitting.stream().map(CaseAction::option).collect(Collectors.joining(", ")),
                  action.option()));
    }
  }

  private Resolved act(Work work, CaseResolution resolution) {
    if (resolution instanceof Succeeded succeeded) {
      return done(work, succeeded(work, succeeded));
    }
    if (resolution instanceof Failed failed) {
      return done(work, failed(work, failed));
    }
    if (resolution instanceof Adopt adopt) {
      return adopt(work, adopt);
    }
    if (resolution instanceof Refund refund) {
      return refund(work, refund);
    }
    if (resolution.action() == CaseAction.QUERY) {
      return query(work);
    }
    return done(work, close(work));
  }

  private static Resolved done(Work work, String sentence) {
    return new Resolved(work.found(), List.of(sentence), true, null, null);
  }

  private Resolved query(Work work) {
    Payment payment = work.known(CaseAction.QUERY);
    String refundId = work.found().evidence().get(REFUND_ID);
    QueryRequests.Asked asked =
        refundId == null
            ? queries.ask(work.tx(), payment)
            : queries.askRefund(work.tx(), payment, refundId);
    String sentence =
        asked.underWay()
            ? "an attempt at %s is under way: its answer will do".formatted(asked.provider())
            : "the worker asks %s now".formatted(asked.provider());
    return new Resolved(work.found(), List.of(sentence), false, asked, null);
  }

  private String succeeded(Work work, Succeeded said) {
    Payment payment = work.ofPayment(CaseAction.SUCCEEDED);
    Fact fact =
        new Fact(
            FactSource.OPERATOR,
            payment.provider(),
            payment.paymentId(),
            Observation.SUCCEEDED,
            said.transactionId(),
            said.amount(),
            null,
            null,
            null,
            work.now(),
            evidence(work));
    Payment after = apply(work, fact, PaymentStatus.SUCCEEDED);
    if (!said.transactionId().equals(after.providerTransactionId())) {
      throw refused(
          "Payment %s is SUCCEEDED under transaction %s already"
              .formatted(after.paymentId(), after.providerTransactionId()));
    }
    return moved(payment, after);
  }

  private String failed(Work work, Failed said) {
    Payment payment = work.ofPayment(CaseAction.FAILED);
    if (callUnderWay(work.tx(), payment.paymentId())) {
      throw refused(
          "A charge of payment %s is under way at this moment: see what becomes of it first"
              .formatted(payment.paymentId()));
    }
    Fact fact =
        Fact.plain(
            FactSource.OPERATOR,
            payment.provider(),
            payment.paymentId(),
            Observation.FAILED,
            said.code(),
            work.now(),
            evidence(work));
    return moved(payment, apply(work, fact, PaymentStatus.FAILED));
  }

  /** Applies what a person says; where it does not lead to the wanted status, nothing is left. */
  private Payment apply(Work work, Fact fact, PaymentStatus wanted) {
    List<Long> openBefore = cases.openOf(work.tx(), fact.paymentId());
    FactStore.Applied applied = facts.apply(work.tx(), List.of(fact), work.now()).get(0);
    Payment before = applied.before();
    Decision decision = applied.decision();
    if (before == null || decision == null) {
      throw refused("There is no payment " + fact.paymentId());
    }
    Payment after = decision.result(before);
    TreeSet<Long> raised = new TreeSet<>(cases.openOf(work.tx(), fact.paymentId()));
    openBefore.forEach(raised::remove);
    if (decision.note() != Decision.Note.NONE || !raised.isEmpty() || after.status() != wanted) {
      throw refused(
          "Payment %s, which is %s, does not become %s by that: %s. Nothing was changed"
              .formatted(fact.paymentId(), before.status(), wanted, why(decision, raised)));
    }
    return after;
  }

  private static String why(Decision decision, Set<Long> raised) {
    List<String> reasons = new ArrayList<>();
    for (ExceptionCase one : decision.exceptions()) {
      String claimedBy = one.evidence().get("claimed_by_payment_id");
      Money expected = one.expected();
      Money observed = one.observed();
      String terms =
          expected == null || observed == null
              ? ""
              : " (%s asked for, %s said)".formatted(text(expected), text(observed));
      reasons.add(
          claimedBy == null ? one.kind() + terms : one.kind() + " (by payment " + claimedBy + ")");
    }
    if (reasons.isEmpty() && !raised.isEmpty()) {
      reasons.add("the ledger holds that transaction with another amount");
    }
    return reasons.isEmpty() ? "terminal states do not move" : String.join(", ", reasons);
  }

  private Resolved adopt(Work work, Adopt adopt) {
    StoredCase found = work.found();
    if (found.provider() == null
        || found.providerTransactionId() == null
        || found.observed() == null
        || !"SUCCEEDED".equals(found.evidence().get("observation"))) {
      throw refused(
          "Case %d tells of %s, not of money that came in: there is nothing to adopt"
              .formatted(found.id(), found.evidence().get("observation")));
    }
    work.tx()
        .createQuery(
            """
            SELECT payrelay.adopt_payment(:case_id, :payment_id, :merchant, :order, :by)::text
            """)
        .bind("case_id", found.id())
        .bind("payment_id", adopt.paymentId())
        .bind("merchant", adopt.merchant())
        .bind("order", adopt.merchantOrderId())
        .bind("by", work.person().by())
        .mapTo(String.class)
        .findOne();
    Fact fact =
        new Fact(
            FactSource.OPERATOR,
            found.provider(),
            adopt.paymentId(),
            Observation.SUCCEEDED,
            found.providerTransactionId(),
            found.observed(),
            null,
            null,
            null,
            found.eventAt(),
            evidence(work));
    Payment after = apply(work, fact, PaymentStatus.SUCCEEDED);
    String sentence =
        "transaction %s of %s is payment %s now, SUCCEEDED with %s; no charge is sent for it"
            .formatted(
                found.providerTransactionId(),
                found.provider(),
                after.paymentId(),
                text(after.amount()));
    return new Resolved(
        found,
        List.of(sentence),
        true,
        null,
        new Adopted(
            after.paymentId(), found.provider(), found.providerTransactionId(), found.paymentId()));
  }

  private Resolved refund(Work work, Refund refund) {
    StoredCase found = work.found();
    String ofRefund = found.evidence().get(REFUND_ID);
    if (ofRefund != null) {
      throw refused(
          "Case %d is about refund %s, money that already went back or may have: it is not given back again"
              .formatted(found.id(), ofRefund));
    }
    Adopt adoption = refund.adoption();
    Resolved adopted = null;
    String paymentId = found.paymentId();
    if (found.kind() == ExceptionKind.UNMATCHED_PROVIDER_PAYMENT) {
      adopted = adopt(work, adoption == null ? ownName(found) : adoption);
      paymentId = adopted.adopted() == null ? null : adopted.adopted().paymentId();
    } else if (adoption != null) {
      throw refused("Case %d is about a payment of ours already".formatted(found.id()));
    }
    Money observed = found.observed();
    String transactionId = found.providerTransactionId();
    if (paymentId == null || transactionId == null || observed == null) {
      throw refused(
          "Case %d names no money that came in under a transaction: there is nothing to refund"
              .formatted(found.id()));
    }
    Money amount =
        refund.amountMinor() == null
            ? observed
            : new Money(refund.amountMinor(), observed.currency());
    List<String> did = new ArrayList<>(adopted == null ? List.of() : adopted.did());
    did.add(
        refunds.request(work.tx(), found.id(), paymentId, transactionId, amount, found.traceId()));
    if (adopted != null) {
      return new Resolved(found, did, true, null, adopted.adopted());
    }
    Forgotten forgotten = forgotten(work);
    if (forgotten.isSo()) {
      did.add("the case stays open, because %s".formatted(forgotten.state()));
    }
    return new Resolved(found, did, !forgotten.isSo(), null, null);
  }

  private static Adopt ownName(StoredCase found) {
    return new Adopt(
        "adopted_" + found.id(),
        "unmatched",
        found.provider() + ":" + found.providerTransactionId());
  }

  private String close(Work work) {
    Forgotten forgotten = forgotten(work);
    if (forgotten.isSo()) {
      throw refused(
          "Case %d is not closed, because %s: say how it ended (--succeeded, --failed) or have the provider asked (--query)"
              .formatted(work.found().id(), forgotten.state()));
    }
    return "closed; " + forgotten.state();
  }

  /** Would a payment without an end be nobody's, were this case closed? */
  private Forgotten forgotten(Work work) {
    String refundId = work.found().evidence().get(REFUND_ID);
    if (refundId != null) {
      return forgottenRefund(work.tx(), refundId);
    }
    Payment payment = work.payment();
    if (payment == null || payment.status().terminal()) {
      return new Forgotten(false, "nothing else was changed");
    }
    List<Long> open = new ArrayList<>(cases.openOf(work.tx(), payment.paymentId()));
    open.remove(work.found().id());
    if (!open.isEmpty()) {
      return new Forgotten(
          false, "case %s of payment %s stays open".formatted(open, payment.paymentId()));
    }
    String operation =
        operation(work.tx(), "payment_id = :id AND kind = 'CHARGE'", payment.paymentId());
    return switch (operation) {
      case "none" ->
          new Forgotten(
              false,
              "the worker now takes payment %s, which is %s, from its row"
                  .formatted(payment.paymentId(), payment.status()));
      case "working" ->
          new Forgotten(false, "the worker goes on with payment " + payment.paymentId());
      default ->
          new Forgotten(
              true,
              "payment %s is %s and nobody asks for it any more"
                  .formatted(payment.paymentId(), payment.status()));
    };
  }

  private static Forgotten forgottenRefund(Handle tx, String refundId) {
    String status = QueryRequests.refundStatus(tx, refundId).orElse("gone");
    boolean isSo =
        !QueryRequests.isEndOfRefund(status)
            && operation(tx, "refund_id = :id", refundId).equals(GIVEN_UP);
    return new Forgotten(
        isSo,
        "refund %s is %s%s"
            .formatted(refundId, status, isSo ? " and nobody asks for it any more" : ""));
  }

  private static String operation(Handle tx, String which, String id) {
    return tx.createQuery(
            """
            SELECT CASE WHEN next_action IS NULL THEN 'given up' ELSE 'working' END
            FROM payrelay.operation WHERE %s
            """
                .formatted(which))
        .bind("id", id)
        .mapTo(String.class)
        .findOne()
        .orElse("none");
  }

  /** Nobody begins another one from now on. */
  private static boolean callUnderWay(Handle tx, String paymentId) {
    tx.createQuery("SELECT 1 FROM payrelay.operation WHERE payment_id = :id FOR UPDATE")
        .bind("id", paymentId)
        .mapTo(Integer.class)
        .forEach(one -> {});
    return tx.createQuery(
            """
            SELECT EXISTS (SELECT FROM payrelay.attempt a JOIN payrelay.operation o USING (operation_id)
              WHERE o.payment_id = :id AND o.kind = 'CHARGE' AND a.kind = 'CALL'
                AND a.finished_at IS NULL AND a.lease_until > clock_timestamp())
            """)
        .bind("id", paymentId)
        .mapTo(Boolean.class)
        .one();
  }

  private void resolveSiblings(Handle tx, Adopted adopted, Person person, long caseId) {
    cases.resolveUnmatched(
        tx,
        adopted.provider(),
        adopted.providerTransactionId(),
        person.by(),
        "ADOPT: as payment %s with case %d".formatted(adopted.paymentId(), caseId));
  }

  private static Map<String, String> evidence(Work work) {
    Map<String, String> evidence = new HashMap<>();
    evidence.put("by", work.person().by());
    evidence.put("reason", work.person().reason());
    evidence.put("exception_case_id", Long.toString(work.found().id()));
    if (work.person().evidence() != null) {
      evidence.put("evidence", work.person().evidence());
    }
    return evidence;
  }

  private static String moved(Payment before, Payment after) {
    return "payment %s: %s to %s".formatted(after.paymentId(), before.status(), after.status());
  }

  private static String text(Money money) {
    return money.amountMinor() + " " + money.currency();
  }

  private static PayrelayException refused(String sentence) {
    return new PayrelayException(Category.REJECTED, sentence);
  }
}
