package io.payrelay.payments.lifecycle;

import io.payrelay.payments.ledger.Posting;
import io.payrelay.payments.ledger.PostingKind;
import io.payrelay.payments.ledger.Postings;
import java.time.Instant;
import java.util.List;
import java.util.Objects;

/** What facts about refunds of ours book. Pure, stateless. */
final class RefundPostings {

  private RefundPostings() {}

  static Posting gone(Refund refund, Fact fact, RefundLifecycle.Context context) {
    return Postings.refund(
        refund.paymentId(),
        refund.provider(),
        refund.providerTransactionId(),
        RefundLifecycle.reference(refund, fact),
        refund.amount(),
        context.fromSuspense(),
        fact.observedAt());
  }

  /** Money left, and not as we asked: it is booked as the provider says. */
  static List<Posting> leftUnexplained(Refund refund, Fact fact) {
    return RefundLifecycle.isSuccess(fact)
        ? List.of(
            Postings.movement(
                PostingKind.PROVIDER_REFUND,
                refund.paymentId(),
                fact.provider(),
                Objects.requireNonNull(fact.providerTransactionId())
                    + ":"
                    + RefundLifecycle.reference(refund, fact),
                Objects.requireNonNull(fact.amount()),
                fact.observedAt()))
        : List.of();
  }

  static List<Posting> cameBack(Refund refund, Fact fact, RefundLifecycle.Context context) {
    RefundLifecycle.Booked booked = context.booked();
    return booked == null
        ? List.of()
        : List.of(
            Postings.refundReturned(
                refund.paymentId(),
                refund.provider(),
                Postings.refundKey(
                    refund.provider(),
                    refund.providerTransactionId(),
                    RefundLifecycle.reference(refund, fact)),
                booked.amount(),
                booked.against(),
                fact.observedAt()));
  }

  /** That what just left had come back before. What is booked already stands; only that can. */
  static Posting backAgain(
      Refund refund, Posting gone, RefundLifecycle.Context context, Instant at) {
    RefundLifecycle.Booked booked =
        Objects.requireNonNullElse(
            context.booked(),
            new RefundLifecycle.Booked(gone.entries().get(0).account().kind(), refund.amount()));
    return Postings.refundReturned(
        refund.paymentId(),
        refund.provider(),
        gone.businessKey(),
        booked.amount(),
        booked.against(),
        at);
  }
}
