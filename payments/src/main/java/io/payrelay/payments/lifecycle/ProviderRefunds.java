package io.payrelay.payments.lifecycle;

import io.payrelay.payments.ledger.Posting;
import io.payrelay.payments.ledger.Postings;
import io.payrelay.payments.lifecycle.Decision.NextAction;
import io.payrelay.payments.lifecycle.Decision.Note;
import io.payrelay.payments.lifecycle.RefundLifecycle.Booked;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Refunds that the provider made and nobody asked for through us. Pure, stateless. */
public final class ProviderRefunds {

  private ProviderRefunds() {}

  /**
   * Decides on a refund at the provider that is none of ours: what went back is booked and told,
   * and so is what of it came back.
   *
   * @param booked null where nothing is booked of it, or what was is reversed
   * @param failure as of a refund of ours
   */
  public static Decision decide(
      Payment payment, Fact fact, @Nullable Booked booked, @Nullable RefundFailure failure) {
    NextAction next = payment.status().terminal() ? NextAction.NONE : NextAction.QUERY;
    String reference = fact.reference();
    return switch (fact.observation()) {
      case SUCCEEDED, PROVIDER_REFUND ->
          booked == null && RefundFailure.isAfter(fact, failure)
              ? new Decision(List.of(), Note.IGNORED, List.of(), List.of(), next)
              : PaymentLifecycle.decide(
                  payment,
                  fact.as(Observation.PROVIDER_REFUND),
                  new PaymentLifecycle.Context(null, false));
      // Nobody here can ask about it: what is reported has to do.
      case FAILED, FAILURE_REPORTED -> {
        if (booked == null || reference == null || fact.providerTransactionId() == null) {
          yield new Decision(List.of(), Note.IGNORED, List.of(), List.of(), next);
        }
        Posting back =
            Postings.refundReturned(
                payment.paymentId(),
                fact.provider(),
                Postings.refundKey(fact.provider(), fact.providerTransactionId(), reference),
                booked.amount(),
                booked.against(),
                fact.observedAt());
        Map<String, String> evidence = new HashMap<>(fact.evidence());
        evidence.put("source", fact.source().name());
        evidence.put("provider_refund_id", reference);
        evidence.put("payment_status", payment.status().name());
        ExceptionCase told =
            new ExceptionCase(
                ExceptionKind.REFUND_RETURNED
                    + (":" + payment.paymentId() + ":" + fact.provider() + ":" + reference),
                ExceptionKind.REFUND_RETURNED,
                payment.paymentId(),
                fact.provider(),
                fact.providerTransactionId(),
                booked.amount(),
                fact.amount(),
                payment.traceId(),
                evidence,
                fact.observedAt());
        yield new Decision(List.of(), Note.MONEY_REVERSED, List.of(back), List.of(told), next);
      }
      case PENDING,
          UNKNOWN,
          REFUSED,
          PAYLOAD_DIFFERS,
          KEY_REFUSED,
          UNRESOLVED,
          DISPUTED,
          DISPUTE_WON,
          DISPUTE_LOST ->
          new Decision(List.of(), Note.NONE, List.of(), List.of(), next);
    };
  }

  /** The same of money that another payment holds: it is told, and booked where it belongs. */
  public static Decision ofMoneyOfAnother(Payment payment, Fact fact) {
    Decision told = decide(payment, fact, null, null);
    return new Decision(
        told.states(),
        told.exceptions().isEmpty() ? Note.IGNORED : Note.CONFLICTING,
        List.of(),
        told.exceptions(),
        told.next());
  }
}
