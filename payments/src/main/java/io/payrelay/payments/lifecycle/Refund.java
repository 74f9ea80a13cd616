package io.payrelay.payments.lifecycle;

import io.payrelay.payments.money.Money;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A refund row as it was locked. Immutable.
 *
 * @param provider where the money was captured
 * @param providerTransactionId the captured money that is given back
 * @param reason for the provider, where it takes one
 * @param version grows with each change of status; REQUESTED is 1
 * @param providerRefundId the provider's own id of it, from the first answer that names one
 */
public record Refund(
    String refundId,
    String paymentId,
    String provider,
    String providerTransactionId,
    Money amount,
    @Nullable String reason,
    @Nullable String traceId,
    RefundStatus status,
    long version,
    @Nullable String providerRefundId,
    @Nullable String failureCode,
    Instant createdAt) {

  private static final String OF_CASE = "refund_case_";

  /** The id of the refund that a person asks for in an exception case: one a case. */
  public static String idOfCase(long caseId) {
    return OF_CASE + caseId;
  }

  /** Did a person ask for it? */
  boolean isOfCase() {
    return refundId.startsWith(OF_CASE);
  }

  /** This refund after one status change. */
  Refund after(RefundStatus next, @Nullable String newFailureCode) {
    return with(next, version + 1, providerRefundId, newFailureCode);
  }

  /** This refund with the provider's id of it, where it had none. */
  Refund identified(@Nullable String id) {
    return providerRefundId != null || id == null ? this : with(status, version, id, failureCode);
  }

  private Refund with(
      RefundStatus newStatus,
      long newVersion,
      @Nullable String newProviderRefundId,
      @Nullable String newFailureCode) {
    return new Refund(
        refundId,
        paymentId,
        provider,
        providerTransactionId,
        amount,
        reason,
        traceId,
        newStatus,
        newVersion,
        newProviderRefundId,
        newFailureCode,
        createdAt);
  }

  /** Ids, status and version only. */
  @Override
  public String toString() {
    return "Refund[" + refundId + " " + status + " version " + version + "]";
  }
}
