package io.payrelay.schemas;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.ByteBuffer;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.avro.LogicalTypes;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.jspecify.annotations.Nullable;

/**
 * Plain JSON (a null is null, not Avro's tagged union) to the generic Avro value of a schema. A
 * field that the schema does not name is refused: it would be lost without a word. One object for
 * one payload.
 */
final class JsonToAvro {

  private static final int DEPTH_MAX = 64;

  private final int stepsMax;
  private int steps;

  private JsonToAvro(int stepsMax) {
    this.stepsMax = stepsMax;
  }

  /**
   * Converts a payload.
   *
   * @param stepsMax bounds the work: a union of records that hold the union again would be tried in
   *     all combinations
   */
  static @Nullable Object convert(JsonNode json, Schema schema, int stepsMax)
      throws EncodingException {
    return new JsonToAvro(stepsMax).value(json, schema, "payload", 0);
  }

  private @Nullable Object value(JsonNode json, Schema schema, String path, int depth)
      throws EncodingException {
    if (++steps > stepsMax) {
      throw new EncodingException(
          EncodingException.Kind.TOO_LARGE,
          "payload takes more than %d steps to convert".formatted(stepsMax));
    }
    if (depth > DEPTH_MAX) {
      throw new EncodingException(path + " is nested deeper than " + DEPTH_MAX);
    }
    return switch (schema.getType()) {
      case RECORD -> record(json, schema, path, depth);
      case UNION -> union(json, schema, path, depth);
      case ARRAY -> array(json, schema, path, depth);
      case MAP -> map(json, schema, path, depth);
      case NULL -> expect(json.isNull(), null, path, "null");
      case STRING -> string(json, path);
      case BOOLEAN -> expect(json.isBoolean(), json.booleanValue(), path, "true or false");
      case INT ->
          expect(
              json.isIntegralNumber() && json.canConvertToInt(),
              json.intValue(),
              path,
              "a whole number of 32 bits");
      case LONG -> longValue(json, schema, path);
      case FLOAT ->
          expect(
              json.isNumber() && Float.isFinite(json.floatValue()),
              json.floatValue(),
              path,
              "a number of 32 bits");
      case DOUBLE ->
          expect(
              json.isNumber() && Double.isFinite(json.doubleValue()),
              json.doubleValue(),
              path,
              "a number of 64 bits");
      case ENUM ->
          expect(
              json.isTextual() && schema.hasEnumSymbol(json.textValue()),
              json.isTextual() ? new GenericData.EnumSymbol(schema, json.textValue()) : null,
              path,
              "one of " + schema.getEnumSymbols());
      case BYTES -> ByteBuffer.wrap(base64(json, path));
      case FIXED -> {
        byte[] bytes = base64(json, path);
        yield expect(
            bytes.length == schema.getFixedSize(),
            new GenericData.Fixed(schema, bytes),
            path,
            schema.getFixedSize() + " bytes in Base64");
      }
    };
  }

  private GenericData.Record record(JsonNode json, Schema schema, String path, int depth)
      throws EncodingException {
    if (!json.isObject()) {
      throw mismatch(path, "an object");
    }
    GenericData.Record record = new GenericData.Record(schema);
    int used = 0;
    for (Schema.Field field : schema.getFields()) {
      String fieldPath = path + "." + field.name();
      JsonNode value = json.get(field.name());
      if (value != null) {
        used++;
        record.put(field.pos(), value(value, field.schema(), fieldPath, depth + 1));
      } else if (field.hasDefaultValue()) {
        record.put(field.pos(), GenericData.get().getDefaultValue(field));
      } else {
        throw new EncodingException(fieldPath + " is missing");
      }
    }
    if (used != json.size()) {
      for (Iterator<String> names = json.fieldNames(); names.hasNext(); ) {
        String name = names.next();
        if (schema.getField(name) == null) {
          throw new EncodingException(path + " has a field that the schema does not know");
        }
      }
    }
    return record;
  }

  private @Nullable Object union(JsonNode json, Schema schema, String path, int depth)
      throws EncodingException {
    EncodingException refused = mismatch(path, "one of the union's types");
    for (Schema branch : schema.getTypes()) {
      if ((branch.getType() == Schema.Type.NULL) != json.isNull()) {
        continue;
      }
      try {
        return value(json, branch, path, depth + 1);
      } catch (EncodingException e) {
        if (e.kind() == EncodingException.Kind.TOO_LARGE) {
          throw e;
        }
        refused = e;
      }
    }
    throw refused;
  }

  private List<@Nullable Object> array(JsonNode json, Schema schema, String path, int depth)
      throws EncodingException {
    if (!json.isArray()) {
      throw mismatch(path, "an array");
    }
    List<@Nullable Object> items = new ArrayList<>(json.size());
    for (JsonNode item : json) {
      items.add(value(item, schema.getElementType(), path + "[" + items.size() + "]", depth + 1));
    }
    return items;
  }

  private Map<String, @Nullable Object> map(JsonNode json, Schema schema, String path, int depth)
      throws EncodingException {
    if (!json.isObject()) {
      throw mismatch(path, "an object");
    }
    Map<String, @Nullable Object> values = new HashMap<>();
    for (Map.Entry<String, JsonNode> entry : json.properties()) {
      if (!isText(entry.getKey())) {
        throw mismatch(path, "a map of text: a name has half a surrogate pair or a NUL");
      }
      values.put(
          entry.getKey(), value(entry.getValue(), schema.getValueType(), path + ".*", depth + 1));
    }
    return values;
  }

  private static @Nullable Object longValue(JsonNode json, Schema schema, String path)
      throws EncodingException {
    if (json.isTextual() && schema.getLogicalType() != null) {
      ChronoUnit unit =
          schema.getLogicalType() instanceof LogicalTypes.TimestampMicros
              ? ChronoUnit.MICROS
              : schema.getLogicalType() instanceof LogicalTypes.TimestampMillis
                  ? ChronoUnit.MILLIS
                  : null;
      if (unit == null) {
        throw mismatch(path, "a whole number of 64 bits");
      }
      try {
        return unit.between(Instant.EPOCH, Instant.parse(json.textValue()));
      } catch (DateTimeException | ArithmeticException e) {
        // Without the cause: its message quotes the value.
        throw mismatch(path, "an ISO 8601 instant");
      }
    }
    return expect(
        json.isIntegralNumber() && json.canConvertToLong(),
        json.longValue(),
        path,
        "a whole number of 64 bits");
  }

  private static String string(JsonNode json, String path) throws EncodingException {
    String text = json.textValue();
    if (text == null) {
      throw mismatch(path, "a string");
    }
    if (!isText(text)) {
      throw mismatch(path, "text: it has half a surrogate pair or a NUL");
    }
    return text;
  }

  /**
   * An escape can name half a character, of which a question mark would come unseen in UTF-8, or
   * the character NUL, which no text of PostgreSQL takes: consumers would stumble over it.
   */
  private static boolean isText(String text) {
    for (int i = 0; i < text.length(); i++) {
      char unit = text.charAt(i);
      if (unit == 0) {
        return false;
      }
      if (Character.isSurrogate(unit)) {
        boolean pair =
            Character.isHighSurrogate(unit)
                && i + 1 < text.length()
                && Character.isLowSurrogate(text.charAt(i + 1));
        if (!pair) {
          return false;
        }
        i++;
      }
    }
    return true;
  }

  private static byte[] base64(JsonNode json, String path) throws EncodingException {
    if (!json.isTextual()) {
      throw mismatch(path, "bytes in Base64");
    }
    try {
      return Base64.getDecoder().decode(json.textValue());
    } catch (IllegalArgumentException e) {
      // Without the cause: its message quotes the value.
      throw mismatch(path, "bytes in Base64");
    }
  }

  private static @Nullable Object expect(
      boolean fits, @Nullable Object value, String path, String expected) throws EncodingException {
    if (!fits) {
      throw mismatch(path, expected);
    }
    return value;
  }

  private static EncodingException mismatch(String path, String expected) {
    return new EncodingException(path + " is not " + expected);
  }
}
