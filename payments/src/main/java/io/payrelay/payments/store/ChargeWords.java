package io.payrelay.payments.store;

import static io.payrelay.payments.store.CaseWork.refused;

import io.payrelay.payments.lifecycle.Decision;
import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.payments.lifecycle.PaymentStatus;
import java.util.List;
import java.util.TreeSet;

/** What a person says of a charge. Stateless, safe for any thread. */
final class ChargeWords {

  private final CaseStore cases = new CaseStore();
  private final FactStore facts = new FactStore();
  private final CaseOperations operations = new CaseOperations();

  String succeeded(CaseWork work, CaseResolution.Succeeded said) {
    Payment payment = work.known(CaseAction.SUCCEEDED);
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
            work.evidence());
    Payment after = apply(work, fact, PaymentStatus.SUCCEEDED);
    if (!said.transactionId().equals(after.providerTransactionId())) {
      throw refused(
          "Payment %s is SUCCEEDED under transaction %s already"
              .formatted(after.paymentId(), after.providerTransactionId()));
    }
    return moved(payment, after);
  }

  String failed(CaseWork work, CaseResolution.Failed said) {
    Payment payment = work.known(CaseAction.FAILED);
    if (operations.chargeUnderWay(work.tx(), payment.paymentId())) {
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
            work.evidence());
    return moved(payment, apply(work, fact, PaymentStatus.FAILED));
  }

  /** Applies what a person says; where it does not lead to the wanted status, nothing is left. */
  Payment apply(CaseWork work, Fact fact, PaymentStatus wanted) {
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
              .formatted(
                  fact.paymentId(),
                  before.status(),
                  wanted,
                  CaseWork.why(decision.exceptions(), !raised.isEmpty())));
    }
    return after;
  }

  private static String moved(Payment before, Payment after) {
    return "payment %s: %s to %s".formatted(after.paymentId(), before.status(), after.status());
  }
}
