package io.payrelay.providers.generic;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.providers.Prepared;
import io.payrelay.providers.RefundOrder;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The body of a charge or refund: fields in alphabetical order at every level, so that equal rows
 * give equal bytes. Pure, stateless.
 */
final class GenericRequest {

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int TEXT_LENGTH_MAX = 255;

  private GenericRequest() {}

  static Prepared charge(Payment payment) {
    try {
      JsonNode method = JSON.readTree(payment.providerData()).path("payment_method");
      boolean usable =
          method.isMissingNode()
              || (method.isTextual()
                  && !method.textValue().isEmpty()
                  && method.textValue().length() <= TEXT_LENGTH_MAX);
      if (!usable) {
        return new Prepared.Refused(
            "invalid_payment_method",
            "provider_data.payment_method is not a text of 1 to "
                + TEXT_LENGTH_MAX
                + " characters");
      }
      Map<String, Object> body = new TreeMap<>();
      body.put("merchant_transaction_id", payment.paymentId());
      body.put("amount", payment.amount().amountMinor());
      body.put("currency", payment.amount().currency());
      putIfPresent(body, "payee_account", payment.payeeAccount());
      putIfPresent(body, "customer_id", payment.customerId());
      putIfPresent(body, "payment_method", method.textValue());
      body.put("metadata", metadata(payment));
      return new Prepared.Ready(JSON.writeValueAsBytes(body));
    } catch (JsonProcessingException e) {
      return new Prepared.Refused(
          "invalid_provider_data", "provider_data or business_refs cannot be read as JSON");
    }
  }

  static Prepared refund(RefundOrder order) {
    Map<String, Object> body = new TreeMap<>();
    body.put("merchant_refund_id", order.refundId());
    body.put("charge", order.providerTransactionId());
    body.put("amount", order.amount().amountMinor());
    body.put("currency", order.amount().currency());
    putIfPresent(body, "reason", order.reason());
    try {
      return new Prepared.Ready(JSON.writeValueAsBytes(body));
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("texts and numbers can be written", e);
    }
  }

  private static Map<String, Object> metadata(Payment payment) throws JsonProcessingException {
    Map<String, Object> metadata = new TreeMap<>();
    Iterator<Map.Entry<String, JsonNode>> fields =
        JSON.readTree(payment.businessRefs()).properties().iterator();
    while (fields.hasNext()) {
      Map.Entry<String, JsonNode> field = fields.next();
      metadata.put(field.getKey(), sorted(field.getValue()));
    }
    // Ours last: a business reference of the same name must not hide them.
    metadata.put("merchant", payment.merchant());
    metadata.put("merchant_order_id", payment.merchantOrderId());
    putIfPresent(metadata, "trace_id", payment.traceId());
    return metadata;
  }

  private static Object sorted(JsonNode node) {
    if (!node.isObject()) {
      return node.isArray() ? node.valueStream().map(GenericRequest::sorted).toList() : node;
    }
    Map<String, Object> fields = new TreeMap<>();
    node.properties().forEach(field -> fields.put(field.getKey(), sorted(field.getValue())));
    return fields;
  }

  private static void putIfPresent(Map<String, Object> map, String key, @Nullable Object value) {
    if (value != null) {
      map.put(key, value);
    }
  }
}
