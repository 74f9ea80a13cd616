package io.payrelay.payments.store;

import io.payrelay.payments.money.Money;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** How a person wants a case resolved. Immutable. */
public sealed interface CaseResolution {

  /** Which kind of action it is. */
  CaseAction action();

  /** What was named, for the record. */
  Map<String, String> arguments();

  /** Have the provider asked. */
  record Query() implements CaseResolution {
    @Override
    public CaseAction action() {
      return CaseAction.QUERY;
    }

    @Override
    public Map<String, String> arguments() {
      return Map.of();
    }
  }

  /** It succeeded, under that transaction of the provider's. */
  record Succeeded(String transactionId, Money amount) implements CaseResolution {
    @Override
    public CaseAction action() {
      return CaseAction.SUCCEEDED;
    }

    @Override
    public Map<String, String> arguments() {
      return Map.of(
          "transaction_id", transactionId,
          "amount_minor", Long.toString(amount.amountMinor()),
          "currency", amount.currency());
    }
  }

  /** It failed. */
  record Failed(String code) implements CaseResolution {
    @Override
    public CaseAction action() {
      return CaseAction.FAILED;
    }

    @Override
    public Map<String, String> arguments() {
      return Map.of("code", code);
    }
  }

  /**
   * Money goes back.
   *
   * @param amountMinor null: what the case tells of
   * @param adoption for a provider's payment that is none of ours yet
   */
  record Refund(@Nullable Long amountMinor, @Nullable Adopt adoption) implements CaseResolution {
    @Override
    public CaseAction action() {
      return CaseAction.REFUND;
    }

    @Override
    public Map<String, String> arguments() {
      Map<String, String> arguments = new LinkedHashMap<>();
      if (amountMinor != null) {
        arguments.put("amount_minor", Long.toString(amountMinor));
      }
      if (adoption != null) {
        arguments.putAll(adoption.arguments());
      }
      return arguments;
    }
  }

  /** It becomes a payment of ours, with that id, for that order. */
  record Adopt(String paymentId, String merchant, String merchantOrderId)
      implements CaseResolution {
    @Override
    public CaseAction action() {
      return CaseAction.ADOPT;
    }

    @Override
    public Map<String, String> arguments() {
      return Map.of(
          "payment_id", paymentId, "merchant", merchant, "merchant_order_id", merchantOrderId);
    }
  }

  /** Nothing more. */
  record Close() implements CaseResolution {
    @Override
    public CaseAction action() {
      return CaseAction.CLOSE;
    }

    @Override
    public Map<String, String> arguments() {
      return Map.of();
    }
  }
}
