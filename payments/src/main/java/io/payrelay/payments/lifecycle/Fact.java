package io.payrelay.payments.lifecycle;

import io.payrelay.payments.money.Money;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Who saw what of a payment, when. Immutable.
 *
 * @param providerTransactionId the provider's canonical id of the money movement
 * @param reference id of what a dispute or a provider's refund is about, unique at the provider
 * @param code why it failed or was refused; stable, without private data
 * @param observedAt when it happened by the provider's word, else when we saw it
 * @param evidence what a person needs to believe it; never bodies, headers or secrets
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
    Map<String, String> evidence) {

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
    return new Fact(
        source,
        provider,
        otherPaymentId,
        observation,
        providerTransactionId,
        amount,
        payeeAccount,
        reference,
        code,
        observedAt,
        evidence);
  }
}
