package io.payrelay.app;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.net.URLDecoder;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A provider's body as a person may see it. What is not known to be harmless is hidden: values of
 * fields that are not listed, whole objects that are not listed, values that do not look like an
 * id, a code, an amount or a time. Of what is hidden its type and size are told. Stateless.
 */
final class MaskedBody {

  private static final int DEPTH_MAX = 32;

  /** Objects and lists that are looked into; billing_details, customer and their kind are not. */
  private static final Set<String> OPEN =
      Set.of(
          "data",
          "object",
          "charges",
          "refunds",
          "metadata",
          "transfer_data",
          "last_payment_error",
          "error",
          "previous_attributes",
          "charge",
          "refund",
          "dispute",
          "amount_details",
          "automatic_payment_methods",
          "request");

  /** Fields whose value may be seen, where it looks like what it should be. */
  private static final Set<String> SHOWN =
      Set.of(
          "id",
          "object",
          "type",
          "event",
          "status",
          "state",
          "amount",
          "amount_minor",
          "amount_received",
          "amount_captured",
          "amount_refunded",
          "amount_capturable",
          "refund_amount",
          "dispute_amount",
          "total",
          "currency",
          "created",
          "timestamp",
          "canceled_at",
          "livemode",
          "captured",
          "paid",
          "refunded",
          "disputed",
          "has_more",
          "total_count",
          "account",
          "payee_account",
          "destination",
          "payment_intent",
          "charge",
          "latest_charge",
          "refund",
          "refund_id",
          "dispute",
          "dispute_id",
          "balance_transaction",
          "merchant_transaction_id",
          "transaction_id",
          "payrelay_payment_id",
          "payment_id",
          "out_trade_no",
          "trade_no",
          "trade_status",
          "code",
          "decline_code",
          "failure_code",
          "error_code",
          "reason",
          "cancellation_reason",
          "network_status",
          "capture_method",
          "confirmation_method",
          "pending_webhooks",
          "api_version",
          "idempotency_key");

  /** Ids, codes, amounts, instants: no blank, no at sign, no slash. */
  private static final Pattern HARMLESS = Pattern.compile("[0-9A-Za-z_.:+-]{1,128}");

  /** What opens doors, whatever field it stands in. */
  private static final Pattern SECRET =
      Pattern.compile(
          "(?i).*(_secret_|secret|password|bearer).*|(?i)(sk|rk|pk|tok|whsec|ek)_.*|eyJ[0-9A-Za-z_-]+\\..*");

  private static final Pattern NAME = Pattern.compile("[A-Za-z][0-9A-Za-z_]{0,63}");

  private static final JsonMapper JSON =
      JsonMapper.builder(
              JsonFactory.builder()
                  .streamReadConstraints(
                      StreamReadConstraints.builder().maxNestingDepth(DEPTH_MAX).build())
                  .build())
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .enable(SerializationFeature.INDENT_OUTPUT)
          .build();

  private MaskedBody() {}

  /** The body as indented JSON, or what can be said of one that is none. */
  static String of(byte[] body) {
    JsonNode masked = json(body);
    try {
      return JSON.writeValueAsString(masked);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("masked JSON is JSON", e);
    }
  }

  /** The same as a tree. */
  static JsonNode json(byte[] body) {
    if (body.length == 0) {
      return text("(empty)");
    }
    String decoded;
    try {
      decoded = UTF_8.newDecoder().decode(ByteBuffer.wrap(body)).toString();
    } catch (CharacterCodingException e) {
      return text("(%d bytes, not text)".formatted(body.length));
    }
    JsonNode root = tree(decoded);
    if (root == null) {
      root = form(decoded);
    }
    return root == null || !root.isContainerNode()
        ? text("(%d bytes, neither JSON nor a form)".formatted(body.length))
        : masked(root);
  }

  private static JsonNode masked(JsonNode node) {
    if (node.isArray()) {
      ArrayNode list = JsonNodeFactory.instance.arrayNode();
      // Only objects have named fields by which they could be judged.
      node.forEach(item -> list.add(item.isObject() ? masked(item) : hidden(item)));
      return list;
    }
    ObjectNode shown = JsonNodeFactory.instance.objectNode();
    int unnamed = 0;
    for (Map.Entry<String, JsonNode> field : node.properties()) {
      // Keys of metadata are free text too.
      String name =
          NAME.matcher(field.getKey()).matches() ? field.getKey() : "(field " + ++unnamed + ")";
      shown.set(name, value(field.getKey(), field.getValue()));
    }
    return shown;
  }

  private static JsonNode value(String name, JsonNode value) {
    if (value.isNull()) {
      return value;
    }
    if (value.isContainerNode()) {
      return OPEN.contains(name) ? masked(value) : hidden(value);
    }
    boolean seen = SHOWN.contains(name) && harmless(value.asText());
    return seen ? value : hidden(value);
  }

  private static boolean harmless(String text) {
    return HARMLESS.matcher(text).matches()
        && !SECRET.matcher(text).matches()
        && CardNumbers.masked(text).equals(text);
  }

  private static JsonNode hidden(JsonNode value) {
    if (value.isObject()) {
      return text("(hidden: object of %d)".formatted(value.size()));
    }
    if (value.isArray()) {
      return text("(hidden: list of %d)".formatted(value.size()));
    }
    if (value.isTextual()) {
      return text("(hidden: text of %d)".formatted(value.textValue().length()));
    }
    return text(value.isBoolean() ? "(hidden: true or false)" : "(hidden: number)");
  }

  private static JsonNode text(String text) {
    return JsonNodeFactory.instance.textNode(text);
  }

  private static @Nullable JsonNode tree(String text) {
    try {
      return JSON.readTree(text);
    } catch (JsonProcessingException e) {
      return null;
    }
  }

  /** {@code a=b&c=d}, as some providers send. */
  private static @Nullable JsonNode form(String text) {
    if (text.indexOf('=') < 0 || text.indexOf('<') >= 0 || text.indexOf('\n') >= 0) {
      return null;
    }
    ObjectNode fields = JsonNodeFactory.instance.objectNode();
    for (String pair : text.split("&", -1)) {
      int equals = pair.indexOf('=');
      String name = equals < 0 ? pair : pair.substring(0, equals);
      String value = equals < 0 ? "" : pair.substring(equals + 1);
      fields.put(name, decoded(value));
    }
    return fields;
  }

  private static String decoded(String value) {
    try {
      return URLDecoder.decode(value, UTF_8);
    } catch (IllegalArgumentException e) {
      // A broken escape: as it stands it is hidden anyway.
      return "% " + value;
    }
  }
}
