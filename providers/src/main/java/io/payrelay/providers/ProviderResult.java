package io.payrelay.providers;

import io.payrelay.payments.money.Money;
import java.time.Duration;
import java.time.Instant;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/** What a provider's answer says. Business outcomes are values; there are no others than these. */
public sealed interface ProviderResult {

  /** Money moved. */
  record Succeeded(
      String providerTransactionId,
      Money amount,
      @Nullable String payeeAccount,
      @Nullable Instant occurredAt)
      implements ProviderResult {}

  /**
   * The provider has it and works on it.
   *
   * @param amount what it says it works on, where it says so
   */
  record Pending(
      @Nullable String providerTransactionId, @Nullable Money amount, @Nullable String payeeAccount)
      implements ProviderResult {}

  /**
   * The provider says no.
   *
   * @param stillPayable false: for good, it will not change its mind. true: what it refused can
   *     still be paid there (by another try on the same object), so it has to be cancelled before
   *     anybody may call the payment failed
   */
  record Declined(
      String code,
      @Nullable String providerTransactionId,
      @Nullable Money amount,
      boolean stillPayable)
      implements ProviderResult {

    /** A decline for good. */
    public Declined(String code, @Nullable String providerTransactionId, @Nullable Money amount) {
      this(code, providerTransactionId, amount, false);
    }
  }

  /**
   * Surely nothing was executed: the same key and bytes may be sent again.
   *
   * @param retryAfter how long the provider asks us to wait, where it does
   */
  record NotProcessed(String reason, @Nullable Duration retryAfter) implements ProviderResult {

    /** What follows is told by the reason. */
    public NotProcessed {
      Objects.requireNonNull(reason, "reason");
    }
  }

  /** It may have been executed. Never to be called failed. */
  record Unknown(String reason) implements ProviderResult {}

  /** Only for queries: the provider has no such charge, as far as it can see now. */
  record NotFound() implements ProviderResult {}

  /** The key was used with other parameters: a bug of ours, never answered with a new key. */
  record KeyRefused(String reason) implements ProviderResult {}
}
