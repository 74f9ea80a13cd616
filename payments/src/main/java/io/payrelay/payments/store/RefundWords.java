package io.payrelay.payments.store;

import static io.payrelay.payments.store.CaseWork.refused;

import io.payrelay.payments.lifecycle.Decision;
import io.payrelay.payments.lifecycle.ExceptionCase;
import io.payrelay.payments.lifecycle.ExceptionKind;
import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.lifecycle.Refund;
import io.payrelay.payments.lifecycle.RefundDecision;
import io.payrelay.payments.lifecycle.RefundStatus;
import java.util.List;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/** What a person says of a refund. Stateless, safe for any thread. */
final class RefundWords {

  private final CaseStore cases = new CaseStore();
  private final RefundStore refunds = new RefundStore();
  private final FactStore facts = new FactStore();
  private final CaseOperations operations = new CaseOperations();

  /** The named transaction is the provider's own id of the refund. */
  String succeeded(CaseWork work, String refundId, CaseResolution.Succeeded said) {
    Refund refund = refund(work, refundId, CaseAction.SUCCEEDED);
    if (said.transactionId().equals(refund.providerTransactionId())) {
      throw refused(
          "%s is the charge that refund %s gives back: name the provider's own id of the refund, or %s where it has none"
              .formatted(said.transactionId(), refundId, refundId));
    }
    Fact fact =
        new Fact(
            FactSource.OPERATOR,
            refund.provider(),
            refund.paymentId(),
            Observation.SUCCEEDED,
            refund.providerTransactionId(),
            said.amount(),
            null,
            said.transactionId(),
            null,
            work.now(),
            work.evidence(),
            refundId);
    return apply(work, refund, fact, RefundStatus.SUCCEEDED, null);
  }

  /** One that had SUCCEEDED is RETURNED by that: its money is back. */
  String failed(CaseWork work, String refundId, CaseResolution.Failed said) {
    Refund refund = refund(work, refundId, CaseAction.FAILED);
    if (operations.refundUnderWay(work.tx(), refundId)) {
      throw refused(
          "Refund %s is being sent at this moment: see what becomes of it first"
              .formatted(refundId));
    }
    Fact fact =
        Fact.plain(
                FactSource.OPERATOR,
                refund.provider(),
                refund.paymentId(),
                Observation.FAILED,
                said.code(),
                work.now(),
                work.evidence())
            .aboutRefund(refundId);
    return refund.status() == RefundStatus.SUCCEEDED
        ? apply(work, refund, fact, RefundStatus.RETURNED, ExceptionKind.REFUND_RETURNED)
        : apply(work, refund, fact, RefundStatus.FAILED, ExceptionKind.REFUND_FAILED);
  }

  private Refund refund(CaseWork work, String refundId, CaseAction action) {
    String paymentId = work.known(action).paymentId();
    return refunds
        .find(work.tx(), refundId)
        .filter(one -> one.paymentId().equals(paymentId))
        .orElseThrow(
            () -> refused("There is no refund %s of payment %s".formatted(refundId, paymentId)));
  }

  /**
   * Applies what a person says; where it does not lead to the wanted status, nothing is left.
   *
   * @param expected the case that it may raise in its turn
   */
  private String apply(
      CaseWork work,
      Refund before,
      Fact fact,
      RefundStatus wanted,
      @Nullable ExceptionKind expected) {
    List<Long> openBefore = cases.openOf(work.tx(), fact.paymentId());
    RefundDecision decision = facts.apply(work.tx(), List.of(fact), work.now()).get(0).refund();
    if (decision == null) {
      throw refused("There is no refund " + before.refundId());
    }
    TreeSet<Long> raised = new TreeSet<>(cases.openOf(work.tx(), fact.paymentId()));
    openBefore.forEach(raised::remove);
    List<ExceptionCase> unexpected =
        decision.exceptions().stream().filter(one -> one.kind() != expected).toList();
    boolean more = raised.size() > decision.exceptions().size();
    RefundStatus after = decision.result().status();
    if (decision.note() != Decision.Note.NONE || !unexpected.isEmpty() || more || after != wanted) {
      throw refused(
          "Refund %s, which is %s, does not become %s by that: %s. Nothing was changed"
              .formatted(
                  before.refundId(), before.status(), wanted, CaseWork.why(unexpected, more)));
    }
    String next = raised.isEmpty() ? "" : "; case %s is about its money".formatted(raised);
    return "refund %s: %s to %s%s".formatted(before.refundId(), before.status(), after, next);
  }
}
