package io.payrelay.payments.ledger;

import io.payrelay.payments.money.Money;
import java.time.Instant;
import java.util.Locale;

/**
 * Which posting books which event. One provider transaction is captured once, whether a payment
 * explains it or suspense holds it: both share the business key. Stateless.
 */
public final class Postings {

  private Postings() {}

  /** The money of a SUCCEEDED payment. */
  public static Posting capture(
      String paymentId, String provider, String transactionId, Money amount, Instant eventAt) {
    return Posting.of(
        PostingKind.CAPTURE,
        captureKey(provider, transactionId),
        paymentId,
        provider,
        amount,
        AccountKind.PROVIDER_RECEIVABLE,
        AccountKind.CUSTOMER_PAYMENTS,
        eventAt);
  }

  /** Money that arrived without a SUCCEEDED payment. */
  public static Posting suspenseCapture(
      String paymentId, String provider, String transactionId, Money amount, Instant eventAt) {
    return Posting.of(
        PostingKind.SUSPENSE_CAPTURE,
        captureKey(provider, transactionId),
        paymentId,
        provider,
        amount,
        AccountKind.PROVIDER_RECEIVABLE,
        AccountKind.SUSPENSE,
        eventAt);
  }

  /**
   * The correction for money that suspense holds and that a SUCCEEDED payment explains after all.
   * It has a key of its own: the capture's is taken by what it reverses.
   */
  public static Posting explained(Posting capture) {
    Entry money = capture.entries().get(0);
    return Posting.of(
        PostingKind.ADJUSTMENT,
        "adjust:" + capture.businessKey(),
        capture.paymentId(),
        money.account().provider(),
        new Money(money.amountMinor(), money.account().currency()),
        AccountKind.SUSPENSE,
        AccountKind.CUSTOMER_PAYMENTS,
        capture.eventAt());
  }

  /**
   * Money that left after it had arrived, or came back: a dispute, its end, a provider's refund.
   */
  public static Posting movement(
      PostingKind kind,
      String paymentId,
      String provider,
      String reference,
      Money amount,
      Instant eventAt) {
    String key = kind.name().toLowerCase(Locale.ROOT) + ":" + provider + ":" + reference;
    AccountKind debit =
        switch (kind) {
          case DISPUTE -> AccountKind.SUSPENSE;
          case DISPUTE_WON -> AccountKind.PROVIDER_RECEIVABLE;
          case DISPUTE_LOST -> AccountKind.CUSTOMER_PAYMENTS;
          case PROVIDER_REFUND -> AccountKind.REFUNDS;
          case CAPTURE, SUSPENSE_CAPTURE, ADJUSTMENT ->
              throw new IllegalArgumentException(kind + " is no movement");
        };
    AccountKind credit =
        kind == PostingKind.DISPUTE || kind == PostingKind.PROVIDER_REFUND
            ? AccountKind.PROVIDER_RECEIVABLE
            : AccountKind.SUSPENSE;
    return Posting.of(kind, key, paymentId, provider, amount, debit, credit, eventAt);
  }

  /**
   * The key under which the money of one provider transaction is booked, once and for one payment.
   */
  public static String captureKey(String provider, String transactionId) {
    return "capture:" + provider + ":" + transactionId;
  }
}
