package io.payrelay.payments.store;

import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.payments.store.CaseResolution.Adopt;
import io.payrelay.payments.store.CaseResolution.Failed;
import io.payrelay.payments.store.CaseResolution.Refund;
import io.payrelay.payments.store.CaseResolution.Succeeded;
import io.payrelay.platform.errors.PayrelayException;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Set;
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
  private final QueryRequests queries = new QueryRequests();
  private final ChargeWords charges = new ChargeWords();
  private final RefundWords refunds = new RefundWords();
  private final CaseMoney money = new CaseMoney();
  private final CaseOperations operations = new CaseOperations();
  private final OperatorActionStore actions = new OperatorActionStore();

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

  /**
   * Resolves a case, or says why it does not.
   *
   * @throws PayrelayException REJECTED with a sentence where the action does not fit, somebody else
   *     was first, or the lifecycle does not accept it; the transaction is to be rolled back
   */
  public Resolved resolve(
      Handle tx, long caseId, CaseResolution resolution, Person person, Instant now) {
    StoredCase seen =
        cases
            .find(tx, caseId)
            .orElseThrow(() -> CaseWork.refused("There is no exception case " + caseId));
    // Payment first, then case: the order of everybody who opens cases.
    Payment payment =
        seen.paymentId() == null
            ? null
            : payments.lock(tx, List.of(seen.paymentId())).get(seen.paymentId());
    StoredCase found = cases.lock(tx, caseId).orElse(seen);
    if (!found.isOpen()) {
      throw CaseWork.refused(
          "Case %d was resolved already, by %s at %s: %s"
              .formatted(caseId, found.resolvedBy(), found.resolvedAt(), found.resolution()));
    }
    checkFits(found, resolution.action());
    Resolved resolved = act(new CaseWork(tx, found, payment, person, now), resolution);
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
      throw CaseWork.refused(
          "Case %d is %s: it takes %s, not %s"
              .formatted(
                  found.id(),
                  found.kind(),
                  fitting.stream().map(CaseAction::option).collect(Collectors.joining(", ")),
                  action.option()));
    }
  }

  private Resolved act(CaseWork work, CaseResolution resolution) {
    String refundId = work.found().refundId();
    if (resolution instanceof Succeeded succeeded) {
      return done(
          work,
          refundId == null
              ? charges.succeeded(work, succeeded)
              : refunds.succeeded(work, refundId, succeeded));
    }
    if (resolution instanceof Failed failed) {
      return done(
          work,
          refundId == null ? charges.failed(work, failed) : refunds.failed(work, refundId, failed));
    }
    if (resolution instanceof Adopt adopt) {
      return money.adopt(work, adopt);
    }
    if (resolution instanceof Refund refund) {
      return money.refund(work, refund);
    }
    if (resolution.action() == CaseAction.QUERY) {
      return query(work);
    }
    return done(work, close(work));
  }

  private static Resolved done(CaseWork work, String sentence) {
    return new Resolved(work.found(), List.of(sentence), true, null, null);
  }

  private Resolved query(CaseWork work) {
    Payment payment = work.known(CaseAction.QUERY);
    String refundId = work.found().refundId();
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

  private String close(CaseWork work) {
    CaseOperations.Forgotten forgotten = operations.forgotten(work);
    if (forgotten.isSo()) {
      throw CaseWork.refused(
          "Case %d is not closed, because %s: say how it ended (--succeeded, --failed) or have the provider asked (--query)"
              .formatted(work.found().id(), forgotten.state()));
    }
    return "closed; " + forgotten.state();
  }

  private void resolveSiblings(Handle tx, Adopted adopted, Person person, long caseId) {
    cases.resolveUnmatched(
        tx,
        adopted.provider(),
        adopted.providerTransactionId(),
        person.by(),
        "ADOPT: as payment %s with case %d".formatted(adopted.paymentId(), caseId));
  }
}
