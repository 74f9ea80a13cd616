package io.payrelay.payments.lifecycle;

import io.payrelay.payments.money.Money;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A payment row as it was locked. Immutable; prints neither customer nor provider data.
 *
 * @param businessRefs JSON object with the upstream's own identifiers
 * @param providerData JSON object with what the provider needs, such as a payment method token
 * @param version grows with each change; CREATED is 1
 */
public record Payment(
    String paymentId,
    String merchant,
    String merchantOrderId,
    String provider,
    Money amount,
    @Nullable String payeeAccount,
    @Nullable String customerId,
    String businessRefs,
    String providerData,
    @Nullable String traceId,
    PaymentStatus status,
    long version,
    @Nullable String providerTransactionId,
    @Nullable String failureCode,
    Instant createdAt) {

  /** This payment after one status change. */
  Payment after(
      PaymentStatus next, @Nullable String newTransactionId, @Nullable String newFailureCode) {
    return new Payment(
        paymentId,
        merchant,
        merchantOrderId,
        provider,
        amount,
        payeeAccount,
        customerId,
        businessRefs,
        providerData,
        traceId,
        next,
        version + 1,
        newTransactionId,
        newFailureCode,
        createdAt);
  }

  /** Ids, status and version only. */
  @Override
  public String toString() {
    return "Payment[" + paymentId + " " + status + " version " + version + "]";
  }
}
