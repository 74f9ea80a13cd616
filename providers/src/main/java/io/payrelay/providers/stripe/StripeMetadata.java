package io.payrelay.providers.stripe;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** What we write into the metadata of Stripe's objects, and read out of it. Stateless. */
final class StripeMetadata {

  /** Our payment id on a payment intent; Stripe copies it to the intent's charges. */
  static final String PAYMENT_ID = "payrelay_payment_id";

  private static final Pattern FORM = Pattern.compile("[0-9A-Za-z_]{6,32}");

  private StripeMetadata() {}

  /** Our payment id, or null where there is none that could be ours. */
  static @Nullable String paymentId(JsonNode object) {
    JsonNode node = object.path("metadata").path(PAYMENT_ID);
    return node.isTextual() && FORM.matcher(node.textValue()).matches() ? node.textValue() : null;
  }
}
