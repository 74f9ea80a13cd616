package io.payrelay.providers.stripe;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.payments.money.Money;
import io.payrelay.providers.Prepared;
import io.payrelay.providers.Prepared.Ready;
import io.payrelay.providers.Prepared.Refused;
import io.payrelay.providers.RefundOrder;
import java.util.Locale;
import java.util.OptionalLong;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Bodies of calls to Stripe, or why there is none. The customer is not there when a charge is made
 * (unless provider_data says "off_session": false): what would need an action of his fails instead
 * of waiting for him. Pure: equal rows, equal bytes.
 */
final class StripeRequest {

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final Pattern ID = Pattern.compile("[0-9A-Za-z_]{1,255}");
  private static final Pattern ACCOUNT = Pattern.compile("acct_[0-9A-Za-z_]{1,64}");

  /** Stripe's limit on a value of metadata. */
  private static final int METADATA_LENGTH_MAX = 500;

  private static final Set<String> REASONS =
      Set.of("duplicate", "fraudulent", "requested_by_customer");

  private StripeRequest() {}

  /**
   * Creates and confirms a payment intent.
   *
   * @param ownAccount the account that all calls are made for; null: the key's own
   */
  static Prepared charge(Payment payment, @Nullable String ownAccount) {
    JsonNode data;
    try {
      data = JSON.readTree(payment.providerData());
    } catch (JsonProcessingException e) {
      return new Refused("invalid_provider_data", "provider_data cannot be read as JSON");
    }
    String method = id(data, "payment_method");
    if (method == null) {
      return new Refused(
          "invalid_payment_method", "provider_data.payment_method is not an id of Stripe's");
    }
    String customer = id(data, "customer");
    if (customer == null && data.hasNonNull("customer")) {
      return new Refused("invalid_customer", "provider_data.customer is not an id of Stripe's");
    }
    String payee = payment.payeeAccount();
    if (payee != null && !ACCOUNT.matcher(payee).matches()) {
      return new Refused("invalid_payee_account", "payee_account is not an account of Stripe's");
    }
    OptionalLong amount = StripeAmounts.apiAmount(payment.amount());
    if (amount.isEmpty()) {
      return notAnAmount();
    }
    StripeForm form =
        money(amount.getAsLong(), payment.amount())
            .put("confirm", "true")
            .put("error_on_requires_action", "true")
            .put("off_session", data.path("off_session").asBoolean(true) ? "true" : null)
            // Methods that lead the customer elsewhere would need an address to come back to.
            .put("automatic_payment_methods[enabled]", "true")
            .put("automatic_payment_methods[allow_redirects]", "never")
            .put("payment_method", method)
            .put("customer", customer)
            .metadata(StripeMetadata.PAYMENT_ID, payment.paymentId())
            .metadata("merchant", shortened(payment.merchant()))
            .metadata("merchant_order_id", shortened(payment.merchantOrderId()))
            .metadata("trace_id", shortened(payment.traceId()));
    if (payee != null && !payee.equals(ownAccount)) {
      form.put("transfer_data[destination]", payee);
    }
    return new Ready(form.bytes());
  }

  /** Gives back what came by a payment intent, or by a charge without one. */
  static Prepared refund(RefundOrder order) {
    OptionalLong amount = StripeAmounts.apiAmount(order.amount());
    if (amount.isEmpty()) {
      return notAnAmount();
    }
    String transaction = order.providerTransactionId();
    if (!ID.matcher(transaction).matches()) {
      return new Refused("invalid_transaction", "the money movement has no id of Stripe's");
    }
    String reason = order.reason();
    StripeForm form =
        new StripeForm()
            .put("amount", amount.getAsLong())
            .put(transactionField(transaction), transaction)
            .put("reason", reason != null && REASONS.contains(reason) ? reason : null)
            .metadata(StripeMetadata.PAYMENT_ID, order.paymentId())
            .metadata(StripeMetadata.REFUND_ID, order.refundId());
    return new Ready(form.bytes());
  }

  /** What a refund calls the object whose money it gives back. */
  static String transactionField(String transaction) {
    return transaction.startsWith("pi_") ? "payment_intent" : "charge";
  }

  private static StripeForm money(long apiAmount, Money money) {
    return new StripeForm()
        .put("amount", apiAmount)
        .put("currency", money.currency().toLowerCase(Locale.ROOT));
  }

  private static Refused notAnAmount() {
    return new Refused(
        "invalid_amount", "Stripe does not take this currency, or would round this amount");
  }

  private static @Nullable String id(JsonNode data, String field) {
    JsonNode node = data.path(field);
    return node.isTextual() && ID.matcher(node.textValue()).matches() ? node.textValue() : null;
  }

  private static @Nullable String shortened(@Nullable String text) {
    return text == null || text.length() <= METADATA_LENGTH_MAX
        ? text
        : text.substring(0, METADATA_LENGTH_MAX);
  }
}
