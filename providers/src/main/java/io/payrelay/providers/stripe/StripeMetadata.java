package io.payrelay.providers.stripe;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** What we write into the metadata of Stripe's objects, and read out of it. Stateless. */
final class StripeMetadata {

  /** Our payment id on a payment intent; Stripe copies it to the intent's charges. */
  static final String PAYMENT_ID = "payrelay_payment_id";

  /** Our refund id on a refund. */
  static final String REFUND_ID = "payrelay_refund_id";

  private static final Pattern FORM = Pattern.compile("[0-9A-Za-z_]{6,32}");

  private StripeMetadata() {}

  /** Our payment id, or null where there is none that could be ours. */
  static @Nullable String paymentId(JsonNode object) {
    return id(object, PAYMENT_ID);
  }

  /** Our refund id, or null where there is none that could be ours. */
  static @Nullable String refundId(JsonNode object) {
    return id(object, REFUND_ID);
  }

  private static @Nullable String id(JsonNode object, String name) {
    JsonNode node = object.path("metadata").path(name);
    return node.isTextual() && FORM.matcher(node.textValue()).matches() ? node.textValue() : null;
  }
}
