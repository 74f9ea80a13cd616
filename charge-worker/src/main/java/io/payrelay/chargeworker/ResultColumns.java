package io.payrelay.chargeworker;

import io.payrelay.payments.store.AttemptOutcome;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.ProviderResult;
import org.jspecify.annotations.Nullable;

/** What the row of an attempt says of a provider's result. Stateless. */
final class ResultColumns {

  private ResultColumns() {}

  static AttemptOutcome outcome(ProviderResult result) {
    if (result instanceof ProviderResult.Succeeded) {
      return AttemptOutcome.SUCCEEDED;
    }
    if (result instanceof ProviderResult.Pending) {
      return AttemptOutcome.PENDING;
    }
    if (result instanceof ProviderResult.Declined) {
      return AttemptOutcome.DECLINED;
    }
    if (result instanceof ProviderResult.NotFound) {
      return AttemptOutcome.NOT_FOUND;
    }
    if (result instanceof ProviderResult.NotProcessed notProcessed) {
      return notProcessed.reason().equals(PaymentProvider.RETURNED_UNSENT)
          ? AttemptOutcome.RETURNED_UNSENT
          : AttemptOutcome.NOT_PROCESSED;
    }
    return AttemptOutcome.UNKNOWN;
  }

  /** The provider's own id of the charge, where the answer names it. */
  static @Nullable String reference(ProviderResult result) {
    if (result instanceof ProviderResult.Succeeded succeeded) {
      return succeeded.providerTransactionId();
    }
    if (result instanceof ProviderResult.Pending pending) {
      return pending.providerTransactionId();
    }
    return result instanceof ProviderResult.Declined declined
        ? declined.providerTransactionId()
        : null;
  }

  static @Nullable String detail(ProviderResult result) {
    if (result instanceof ProviderResult.NotProcessed notProcessed) {
      return notProcessed.reason();
    }
    if (result instanceof ProviderResult.Unknown unknown) {
      return unknown.reason();
    }
    if (result instanceof ProviderResult.KeyRefused refused) {
      return "key refused: " + refused.reason();
    }
    return result instanceof ProviderResult.Declined declined ? declined.code() : null;
  }
}
