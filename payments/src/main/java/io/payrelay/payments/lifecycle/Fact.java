package io.payrelay.payments.lifecycle;

import io.payrelay.payments.money.Money;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Who saw what of a payment, or of a refund of it, when. Immutable.
 *
 * @param providerTransactionId the provider's canonical id of the money movement; of a refund: of
 *     the money that is given back
 * @param reference the provider's own id of the dispute or the refund that it is about, unique at
 *     the provider
 * @param code why it failed or was refused; stable, without private data
 * @param observedAt when it happened by the provider's word, else when we saw it
 * @param evidence what a person needs to believe it; never bodies, headers or secrets
 * @param refundId our id of the refund that it is about, where the source names it
 * @param askedAt by our clock, when the question was put to which it is the answer: it was so then
 *     or later; null where nobody asked
 */
public record Fact(
    FactSource source,
    String provider,
    String paymentId,
    Observation observation,
    @Nullable String providerTransactionId,
    @Nullable Money amount,
    @Nullable String payeeAccount,
    @Nullable String reference,
    @Nullable String code,
    Instant observedAt,
    Map<String, String> evidence,
    @Nullable String refundId,
    @Nullable Instant askedAt) {

  /** Money that moved has an id and an amount: an adapter that lacks them does not know. */
  public Fact {
    evidence = Map.copyOf(evidence);
    boolean money =
        switch (observation) {
          case SUCCEEDED, DISPUTED, DISPUTE_WON, DISPUTE_LOST, PROVIDER_REFUND -> true;
          case PENDING,
              FAILED,
              FAILURE_REPORTED,
              UNKNOWN,
              REFUSED,
              PAYLOAD_DIFFERS,
              KEY_REFUSED,
              UNRESOLVED ->
              false;
        };
    if (money
        && (providerTransactionId == null
            || providerTransactionId.isBlank()
            || amount == null
            || amount.amountMinor() == 0)) {
      throw new IllegalArgumentException(
          observation + " needs the provider's transaction id and a positive amount");
    }
  }

  /** A fact that answers no question. */
  public Fact(
      FactSource source,
      String provider,
      String paymentId,
      Observation observation,
      @Nullable String providerTransactionId,
      @Nullable Money amount,
      @Nullable String payeeAccount,
      @Nullable String reference,
      @Nullable String code,
      Instant observedAt,
      Map<String, String> evidence,
      @Nullable String refundId) {
    this(
        source,
        provider,
        paymentId,
        observation,
        providerTransactionId,
        amount,
        payeeAccount,
        reference,
        code,
        observedAt,
        evidence,
        refundId,
        null);
  }

  /** A fact whose source names no refund of ours. */
  public Fact(
      FactSource source,
      String provider,
      String paymentId,
      Observation observation,
      @Nullable String providerTransactionId,
      @Nullable Money amount,
      @Nullable String payeeAccount,
      @Nullable String reference,
      @Nullable String code,
      Instant observedAt,
      Map<String, String> evidence) {
    this(
        source,
        provider,
        paymentId,
        observation,
        providerTransactionId,
        amount,
        payeeAccount,
        reference,
        code,
        observedAt,
        evidence,
        null);
  }

  /** A fact without money: pending, failed, unknown and Payrelay's own observations. */
  public static Fact plain(
      FactSource source,
      String provider,
      String paymentId,
      Observation observation,
      @Nullable String code,
      Instant observedAt,
      Map<String, String> evidence) {
    return new Fact(
        source,
        provider,
        paymentId,
        observation,
        null,
        null,
        null,
        null,
        code,
        observedAt,
        evidence);
  }

  /** The same, said of the payment with that id. */
  public Fact about(String otherPaymentId) {
    return with(otherPaymentId, observation, refundId, askedAt);
  }

  /** The same, said of our refund with that id. */
  public Fact aboutRefund(@Nullable String ourRefundId) {
    return with(paymentId, observation, ourRefundId, askedAt);
  }

  /** The same, as the answer to a question. */
  public Fact asked(Instant at) {
    return with(paymentId, observation, refundId, at);
  }

  /** The same, seen as something else. */
  Fact as(Observation other) {
    return with(paymentId, other, refundId, askedAt);
  }

  private Fact with(
      String ofPayment,
      Observation seen,
      @Nullable String ofRefund,
      @Nullable Instant answerToQuestionAt) {
    return new Fact(
        source,
        provider,
        ofPayment,
        seen,
        providerTransactionId,
        amount,
        payeeAccount,
        reference,
        code,
        observedAt,
        evidence,
        ofRefund,
        answerToQuestionAt);
  }

  /**
   * Is it about a refund, ours or one that was made at the provider? One that names neither ours
   * nor the provider's id of it is about the payment.
   */
  public boolean isAboutRefund() {
    return switch (observation) {
      case DISPUTED, DISPUTE_WON, DISPUTE_LOST -> false;
      case PENDING, SUCCEEDED, FAILED, FAILURE_REPORTED, PROVIDER_REFUND ->
          refundId != null || reference != null;
      case UNKNOWN, REFUSED, PAYLOAD_DIFFERS, KEY_REFUSED, UNRESOLVED -> refundId != null;
    };
  }
}
