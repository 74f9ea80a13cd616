package io.payrelay.simulator;

import com.fasterxml.jackson.databind.JsonNode;
import org.jspecify.annotations.Nullable;

/** The validated body of {@code POST /v1/charges}. */
record ChargeRequest(
    String merchantTransactionId,
    long amountMinor,
    String currency,
    @Nullable String payeeAccount,
    @Nullable String paymentMethod) {

  static ChargeRequest parse(byte[] body) {
    JsonNode root = Requests.object(body);
    JsonNode metadata = root.get("metadata");
    if (metadata != null && !metadata.isNull() && !metadata.isObject()) {
      throw Requests.invalid("metadata", "has to be an object");
    }
    Requests.optionalText(root, "customer_id");
    return new ChargeRequest(
        Requests.requiredText(root, "merchant_transaction_id"),
        Requests.amount(root),
        Requests.currency(root),
        Requests.optionalText(root, "payee_account"),
        Requests.optionalText(root, "payment_method"));
  }
}
