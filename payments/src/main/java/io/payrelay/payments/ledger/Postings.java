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
          case CAPTURE, SUSPENSE_CAPTURE, REFUND, REFUND_RETURNED, ADJUSTMENT ->
              throw new IllegalArgumentException(kind + " is no movement");
        };
    AccountKind credit =
        kind == PostingKind.DISPUTE || kind == PostingKind.PROVIDER_REFUND
            ? AccountKind.PROVIDER_RECEIVABLE
            : AccountKind.SUSPENSE;
    return Posting.of(kind, key, paymentId, provider, amount, debit, credit, eventAt);
  }

  /**
   * Captured money that went back as we had asked. Under the key that a refund made at the provider
   * has: whoever tells of it first, it is booked once.
   *
   * @param fromSuspense no SUCCEEDED payment explains the money
   */
  public static Posting refund(
      String paymentId,
      String provider,
      String transactionId,
      String providerRefundId,
      Money amount,
      boolean fromSuspense,
      Instant eventAt) {
    return Posting.of(
        PostingKind.REFUND,
        refundKey(provider, transactionId, providerRefundId),
        paymentId,
        provider,
        amount,
        fromSuspense ? AccountKind.SUSPENSE : AccountKind.REFUNDS,
        AccountKind.PROVIDER_RECEIVABLE,
        eventAt);
  }

  /**
   * Money that went back and came back.
   *
   * @param refundKey what it takes back
   * @param bookedAgainst the account that was debited then
   */
  public static Posting refundReturned(
      String paymentId,
      String provider,
      String refundKey,
      Money amount,
      AccountKind bookedAgainst,
      Instant eventAt) {
    return Posting.of(
            PostingKind.REFUND_RETURNED,
            "returned:" + refundKey,
            paymentId,
            provider,
            amount,
            AccountKind.PROVIDER_RECEIVABLE,
            bookedAgainst,
            eventAt)
        .reversing(refundKey);
  }

  /**
   * The correction for a refund that was booked as the provider's own before our answer came, and
   * whose money suspense held.
   */
  public static Posting refundExplained(Posting refund) {
    Entry money = refund.entries().get(0);
    return Posting.of(
        PostingKind.ADJUSTMENT,
        "adjust:" + refund.businessKey(),
        refund.paymentId(),
        money.account().provider(),
        new Money(money.amountMinor(), money.account().currency()),
        AccountKind.SUSPENSE,
        AccountKind.REFUNDS,
        refund.eventAt());
  }

  /** The key under which one refund is booked, whoever asked for it. */
  public static String refundKey(String provider, String transactionId, String providerRefundId) {
    return "provider_refund:" + provider + ":" + transactionId + ":" + providerRefundId;
  }

  /**
   * The key under which the money of one provider transaction is booked, once and for one payment.
   */
  public static String captureKey(String provider, String transactionId) {
    return "capture:" + provider + ":" + transactionId;
  }
}
