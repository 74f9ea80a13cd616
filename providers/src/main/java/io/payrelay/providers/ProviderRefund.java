package io.payrelay.providers;

import io.payrelay.payments.money.Money;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A refund that a provider shows of a charge that it was asked about. Immutable.
 *
 * @param providerTransactionId the money that it gives back
 * @param providerRefundId the provider's own id of it
 * @param refundId ours, where the provider names one; null: nobody says that we asked for it
 * @param amount positive
 * @param code why it failed; null for the others
 * @param madeAt when it was made, not when it failed; null where the provider names no time
 */
public record ProviderRefund(
    String providerTransactionId,
    String providerRefundId,
    @Nullable String refundId,
    Status status,
    Money amount,
    @Nullable String code,
    @Nullable Instant madeAt) {

  /** How it stands, in the order in which several of one charge are told. */
  public enum Status {
    SUCCEEDED,
    PENDING,
    FAILED
  }

  /** An adapter that lacks the amount does not know of the refund. */
  public ProviderRefund {
    if (amount.amountMinor() == 0) {
      throw new IllegalArgumentException("a refund needs a positive amount");
    }
  }
}
