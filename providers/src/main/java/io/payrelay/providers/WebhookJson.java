package io.payrelay.providers;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.cfg.JsonNodeFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.payrelay.payments.money.Money;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Strict, bounded reading of a webhook's JSON. Whatever is wrong is named by its field, never by
 * its value. Stateless, safe for any thread.
 */
public final class WebhookJson {

  /** More than any event needs; the endpoint's own cap is usually below. */
  private static final int BODY_BYTES_MAX = 1 << 20;

  private static final int DEPTH_MAX = 32;
  private static final int STRING_LENGTH_MAX = 16_384;
  private static final int NUMBER_LENGTH_MAX = 64;

  /** PostgreSQL keeps no other instants than sane ones without complaint. */
  private static final Instant EARLIEST = Instant.parse("2000-01-01T00:00:00Z");

  private static final Instant LATEST = Instant.parse("2200-01-01T00:00:00Z");

  /** Visible ASCII: what PostgreSQL, a log and a person's screen all show as it is. */
  private static final Pattern TEXT = Pattern.compile("[\\x21-\\x7e]{1,128}");

  private static final Pattern CODE = Pattern.compile("[0-9A-Za-z_.-]{1,64}");
  private static final Pattern CURRENCY = Pattern.compile("[A-Z]{3}");

  private static final JsonMapper JSON =
      JsonMapper.builder(
              JsonFactory.builder()
                  .streamReadConstraints(
                      StreamReadConstraints.builder()
                          .maxNestingDepth(DEPTH_MAX)
                          .maxStringLength(STRING_LENGTH_MAX)
                          .maxNumberLength(NUMBER_LENGTH_MAX)
                          .build())
                  // A field given twice reads differently in every parser.
                  .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                  .build())
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .enable(JsonNodeFeature.WRITE_PROPERTIES_SORTED)
          .build();

  private WebhookJson() {}

  /** The body as an object. */
  public static JsonNode parse(byte[] body) throws UnreadableWebhookException {
    if (body.length > BODY_BYTES_MAX) {
      throw new UnreadableWebhookException("the body is too large");
    }
    JsonNode root;
    try {
      root = JSON.readTree(UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString());
    } catch (CharacterCodingException e) {
      throw new UnreadableWebhookException("the body is not UTF-8");
    } catch (JsonProcessingException e) {
      throw new UnreadableWebhookException("the body is not JSON, repeats a field or is too deep");
    }
    if (!root.isObject()) {
      throw new UnreadableWebhookException("the body is not an object");
    }
    return root;
  }

  /**
   * SHA-256 over all fields but those that belong to the delivery: spacing and order do not count.
   */
  public static byte[] digest(JsonNode root, Set<String> deliveryFields)
      throws UnreadableWebhookException {
    try {
      ObjectNode business = JSON.createObjectNode();
      root.properties().stream()
          .filter(field -> !deliveryFields.contains(field.getKey()))
          .forEach(field -> business.set(field.getKey(), field.getValue()));
      return MessageDigest.getInstance("SHA-256").digest(JSON.writeValueAsBytes(business));
    } catch (JsonProcessingException e) {
      throw new UnreadableWebhookException("the body cannot be written again");
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("every Java has SHA-256", e);
    }
  }

  /** The field's visible text. */
  public static String required(JsonNode object, String field) throws UnreadableWebhookException {
    String text = optional(object, field);
    if (text == null) {
      throw new UnreadableWebhookException(field + " is missing");
    }
    return text;
  }

  /** The field's visible text, or null where there is none. */
  public static @Nullable String optional(JsonNode object, String field)
      throws UnreadableWebhookException {
    JsonNode node = object.path(field);
    if (node.isMissingNode() || node.isNull()) {
      return null;
    }
    if (!node.isTextual() || !TEXT.matcher(node.textValue()).matches()) {
      throw new UnreadableWebhookException(field + " is not 1 to 128 visible characters");
    }
    return node.textValue();
  }

  /** A provider's code, or null where it is no code: a sentence may hold anything. */
  public static @Nullable String code(JsonNode object, String field) {
    JsonNode node = object.path(field);
    return node.isTextual() && CODE.matcher(node.textValue()).matches() ? node.textValue() : null;
  }

  /** An ISO 8601 instant, or null where there is none. */
  public static @Nullable Instant instant(JsonNode object, String field)
      throws UnreadableWebhookException {
    String text = optional(object, field);
    if (text == null) {
      return null;
    }
    try {
      Instant instant = Instant.parse(text);
      if (!instant.isBefore(EARLIEST) && instant.isBefore(LATEST)) {
        return instant;
      }
    } catch (DateTimeException e) {
      // Said below.
    }
    throw new UnreadableWebhookException(field + " is not an ISO 8601 instant");
  }

  /** Seconds of the epoch. */
  public static Instant seconds(JsonNode object, String field) throws UnreadableWebhookException {
    JsonNode node = object.path(field);
    boolean sane =
        node.isIntegralNumber()
            && node.canConvertToLong()
            && node.longValue() >= EARLIEST.getEpochSecond()
            && node.longValue() < LATEST.getEpochSecond();
    if (!sane) {
      throw new UnreadableWebhookException(field + " is not a time in seconds");
    }
    return Instant.ofEpochSecond(node.longValue());
  }

  /** Null where the body names no amount; an amount without its currency says nothing. */
  public static @Nullable Money money(JsonNode object, String amountField, String currencyField)
      throws UnreadableWebhookException {
    JsonNode amount = object.path(amountField);
    if (amount.isMissingNode() || amount.isNull()) {
      return null;
    }
    if (!amount.isIntegralNumber() || !amount.canConvertToLong() || amount.longValue() < 0) {
      throw new UnreadableWebhookException(amountField + " is not a whole number of minor units");
    }
    String currency = required(object, currencyField);
    if (!CURRENCY.matcher(currency).matches()) {
      throw new UnreadableWebhookException(currencyField + " is not an ISO 4217 code");
    }
    return new Money(amount.longValue(), currency);
  }
}
