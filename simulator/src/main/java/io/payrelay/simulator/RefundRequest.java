package io.payrelay.simulator;

import com.fasterxml.jackson.databind.JsonNode;

/** The validated body of {@code POST /v1/refunds}. */
record RefundRequest(String merchantRefundId, String chargeId, long amountMinor, String currency) {

  static RefundRequest parse(byte[] body) {
    JsonNode root = Requests.object(body);
    Requests.optionalText(root, "reason");
    return new RefundRequest(
        Requests.requiredText(root, "merchant_refund_id"),
        Requests.requiredText(root, "charge"),
        Requests.amount(root),
        Requests.currency(root));
  }
}
