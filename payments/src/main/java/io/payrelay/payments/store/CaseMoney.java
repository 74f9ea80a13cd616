package io.payrelay.payments.store;

import static io.payrelay.payments.store.CaseWork.refused;

import io.payrelay.payments.lifecycle.ExceptionKind;
import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.payments.lifecycle.PaymentStatus;
import io.payrelay.payments.money.Money;
import io.payrelay.payments.store.CaseDesk.Adopted;
import io.payrelay.payments.store.CaseDesk.Resolved;
import io.payrelay.payments.store.CaseResolution.Adopt;
import io.payrelay.payments.store.CaseResolution.Refund;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What a person does with the money of a case: takes it over, or gives it back. Stateless. */
final class CaseMoney {

  private final RefundRequests requests = new RefundRequests();
  private final RefundStore refunds = new RefundStore();
  private final ChargeWords words = new ChargeWords();
  private final CaseOperations operations = new CaseOperations();

  Resolved adopt(CaseWork work, Adopt adopt) {
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
            work.evidence());
    Payment after = words.apply(work, fact, PaymentStatus.SUCCEEDED);
    String sentence =
        "transaction %s of %s is payment %s now, SUCCEEDED with %s; no charge is sent for it"
            .formatted(
                found.providerTransactionId(),
                found.provider(),
                after.paymentId(),
                CaseWork.text(after.amount()));
    return new Resolved(
        found,
        List.of(sentence),
        true,
        null,
        new Adopted(
            after.paymentId(), found.provider(), found.providerTransactionId(), found.paymentId()));
  }

  Resolved refund(CaseWork work, Refund refund) {
    StoredCase found = work.found();
    String ofRefund = found.refundId();
    if (ofRefund != null && !CaseAction.of(found).contains(CaseAction.REFUND)) {
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
    Money observed = ofRefund == null ? found.observed() : asked(work, ofRefund);
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
        requests.request(work.tx(), found.id(), paymentId, transactionId, amount, found.traceId()));
    if (adopted != null) {
      return new Resolved(found, did, true, null, adopted.adopted());
    }
    CaseOperations.Forgotten forgotten = operations.forgotten(work);
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

  /** What a refund that gave nothing back was to give back. */
  private @Nullable Money asked(CaseWork work, String refundId) {
    return refunds.find(work.tx(), refundId).map(one -> one.amount()).orElse(null);
  }
}
