package io.payrelay.simulator;

import com.fasterxml.jackson.core.JacksonException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.javalin.http.Context;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Strict reading of the generic face's requests, and what both faces read alike. Stateless. */
final class Requests {
  private static final int BODY_BYTES_MAX = 64 * 1024;
  private static final int KEY_LENGTH_MAX = 255;
  private static final int TEXT_LENGTH_MAX = 255;
  private static final Pattern CURRENCY = Pattern.compile("[A-Z]{3}");
  private static final ObjectReader READER =
      JsonMapper.builder()
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .enable(DeserializationFeature.FAIL_ON_READING_DUP_TREE_KEY)
          .build()
          .reader();

  private Requests() {}

  static String key(Context ctx) {
    String key = ctx.header("Idempotency-Key");
    if (key == null || key.isBlank()) {
      throw InvalidRequestException.badRequest(
          "idempotency_key_missing", "the header Idempotency-Key is required");
    }
    if (key.length() > KEY_LENGTH_MAX) {
      throw InvalidRequestException.badRequest(
          "idempotency_key_invalid",
          "the header Idempotency-Key is longer than " + KEY_LENGTH_MAX + " characters");
    }
    return key;
  }

  static byte[] body(Context ctx) throws IOException {
    int announced = ctx.req().getContentLength();
    int limit = announced >= 0 && announced <= BODY_BYTES_MAX ? announced : BODY_BYTES_MAX + 1;
    byte[] body = ctx.req().getInputStream().readNBytes(limit);
    if (body.length > BODY_BYTES_MAX) {
      throw new InvalidRequestException(
          413, "body_too_large", "the body is larger than " + BODY_BYTES_MAX + " bytes");
    }
    return body;
  }

  static JsonNode object(byte[] body) {
    JsonNode root;
    try {
      root = READER.readTree(body);
    } catch (JacksonException e) {
      // Neither cause nor message: both may quote the body.
      throw InvalidRequestException.badRequest("json_invalid", "the body is not valid JSON");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    if (root == null || !root.isObject()) {
      throw InvalidRequestException.badRequest("json_invalid", "the body has to be a JSON object");
    }
    return root;
  }

  static long amount(JsonNode root) {
    JsonNode amount = required(root, "amount");
    if (!amount.isIntegralNumber() || !amount.canConvertToLong() || amount.longValue() <= 0) {
      throw invalid("amount", "has to be a positive integer of minor units");
    }
    return amount.longValue();
  }

  static String currency(JsonNode root) {
    String currency = requiredText(root, "currency");
    if (!CURRENCY.matcher(currency).matches()) {
      throw invalid("currency", "has to be three capital letters");
    }
    return currency;
  }

  static String requiredText(JsonNode root, String name) {
    return text(required(root, name), name);
  }

  static @Nullable String optionalText(JsonNode root, String name) {
    JsonNode value = root.get(name);
    return value == null || value.isNull() ? null : text(value, name);
  }

  static InvalidRequestException invalid(String name, String why) {
    return InvalidRequestException.badRequest("parameter_invalid", name + " " + why);
  }

  private static JsonNode required(JsonNode root, String name) {
    JsonNode value = root.get(name);
    if (value == null || value.isNull()) {
      throw InvalidRequestException.badRequest("parameter_missing", name + " is missing");
    }
    return value;
  }

  private static String text(JsonNode value, String name) {
    if (!value.isTextual()
        || value.textValue().isEmpty()
        || value.textValue().length() > TEXT_LENGTH_MAX) {
      throw invalid(name, "has to be a text of 1 to " + TEXT_LENGTH_MAX + " characters");
    }
    return value.textValue();
  }
}
