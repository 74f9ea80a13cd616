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
 * field that the schema does not name is refused: it would be lost without a word. Stateless.
 */
final class JsonToAvro {

  private static final int DEPTH_MAX = 64;

  private JsonToAvro() {}

  static @Nullable Object convert(JsonNode json, Schema schema, String path, int depth)
      throws EncodingException {
    if (depth > DEPTH_MAX) {
      throw new EncodingException(path + " is nested deeper than " + DEPTH_MAX);
    }
    return switch (schema.getType()) {
      case RECORD -> record(json, schema, path, depth);
      case UNION -> union(json, schema, path, depth);
      case ARRAY -> array(json, schema, path, depth);
      case MAP -> map(json, schema, path, depth);
      case NULL -> expect(json.isNull(), null, path, "null");
      case STRING -> expect(json.isTextual(), json.textValue(), path, "a string");
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

  private static GenericData.Record record(JsonNode json, Schema schema, String path, int depth)
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
        record.put(field.pos(), convert(value, field.schema(), fieldPath, depth + 1));
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

  private static @Nullable Object union(JsonNode json, Schema schema, String path, int depth)
      throws EncodingException {
    EncodingException refused = mismatch(path, "one of the union's types");
    for (Schema branch : schema.getTypes()) {
      if ((branch.getType() == Schema.Type.NULL) != json.isNull()) {
        continue;
      }
      try {
        return convert(json, branch, path, depth + 1);
      } catch (EncodingException e) {
        refused = e;
      }
    }
    throw refused;
  }

  private static List<@Nullable Object> array(JsonNode json, Schema schema, String path, int depth)
      throws EncodingException {
    if (!json.isArray()) {
      throw mismatch(path, "an array");
    }
    List<@Nullable Object> items = new ArrayList<>(json.size());
    for (JsonNode item : json) {
      items.add(convert(item, schema.getElementType(), path + "[" + items.size() + "]", depth + 1));
    }
    return items;
  }

  private static Map<String, @Nullable Object> map(
      JsonNode json, Schema schema, String path, int depth) throws EncodingException {
    if (!json.isObject()) {
      throw mismatch(path, "an object");
    }
    Map<String, @Nullable Object> values = new HashMap<>();
    for (Map.Entry<String, JsonNode> entry : json.properties()) {
      values.put(
          entry.getKey(), convert(entry.getValue(), schema.getValueType(), path + ".*", depth + 1));
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
