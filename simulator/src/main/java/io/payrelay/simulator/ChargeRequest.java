package io.payrelay.simulator;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The validated body of {@code POST /v1/charges}. */
record ChargeRequest(
    String merchantTransactionId,
    long amountMinor,
    String currency,
    @Nullable String payeeAccount,
    @Nullable String paymentMethod) {

  private static final int TEXT_LENGTH_MAX = 255;
  private static final Pattern CURRENCY = Pattern.compile("[A-Z]{3}");
  private static final ObjectReader READER =
      JsonMapper.builder()
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .enable(DeserializationFeature.FAIL_ON_READING_DUP_TREE_KEY)
          .build()
          .reader();

  static ChargeRequest parse(byte[] body) {
    JsonNode root = tree(body);
    if (root == null || !root.isObject()) {
      throw InvalidRequestException.badRequest("json_invalid", "the body has to be a JSON object");
    }
    JsonNode metadata = root.get("metadata");
    if (metadata != null && !metadata.isNull() && !metadata.isObject()) {
      throw invalid("metadata", "has to be an object");
    }
    optionalText(root, "customer_id");
    return new ChargeRequest(
        requiredText(root, "merchant_transaction_id"),
        amount(root),
        currency(root),
        optionalText(root, "payee_account"),
        optionalText(root, "payment_method"));
  }

  private static @Nullable JsonNode tree(byte[] body) {
    try {
      return READER.readTree(body);
    } catch (JacksonException e) {
      // Neither cause nor message: both may quote the body.
      throw InvalidRequestException.badRequest("json_invalid", "the body is not valid JSON");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static long amount(JsonNode root) {
    JsonNode amount = required(root, "amount");
    if (!amount.isIntegralNumber() || !amount.canConvertToLong() || amount.longValue() <= 0) {
      throw invalid("amount", "has to be a positive integer of minor units");
    }
    return amount.longValue();
  }

  private static String currency(JsonNode root) {
    String currency = requiredText(root, "currency");
    if (!CURRENCY.matcher(currency).matches()) {
      throw invalid("currency", "has to be three capital letters");
    }
    return currency;
  }

  private static JsonNode required(JsonNode root, String name) {
    JsonNode value = root.get(name);
    if (value == null || value.isNull()) {
      throw InvalidRequestException.badRequest("parameter_missing", name + " is missing");
    }
    return value;
  }

  private static String requiredText(JsonNode root, String name) {
    return text(required(root, name), name);
  }

  private static @Nullable String optionalText(JsonNode root, String name) {
    JsonNode value = root.get(name);
    return value == null || value.isNull() ? null : text(value, name);
  }

  private static String text(JsonNode value, String name) {
    if (!value.isTextual()
        || value.textValue().isEmpty()
        || value.textValue().length() > TEXT_LENGTH_MAX) {
      throw invalid(name, "has to be a text of 1 to " + TEXT_LENGTH_MAX + " characters");
    }
    return value.textValue();
  }

  private static InvalidRequestException invalid(String name, String why) {
    return InvalidRequestException.badRequest("parameter_invalid", name + " " + why);
  }
}
