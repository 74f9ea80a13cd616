package io.payrelay.app;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.SerializationFeature;
import java.sql.Array;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jdbi.v3.core.statement.StatementContext;
import org.jspecify.annotations.Nullable;
import org.postgresql.util.PGobject;

/**
 * Rows of the database as a person or a program is shown them: times in UTC, nulls left out, bodies
 * masked, card numbers hidden. Stateless.
 */
final class Rows {

  private static final ObjectMapper JSON =
      new ObjectMapper().enable(SerializationFeature.INDENT_OUTPUT);

  private Rows() {}

  /** One row in the order of its columns. */
  static Map<String, Object> read(ResultSet row, StatementContext context) throws SQLException {
    Map<String, Object> values = new LinkedHashMap<>();
    for (int column = 1; column <= row.getMetaData().getColumnCount(); column++) {
      Object value = value(row.getObject(column));
      if (value != null) {
        values.put(row.getMetaData().getColumnLabel(column), value);
      }
    }
    return values;
  }

  /** {@code name=value} pairs, in two columns' distance. */
  static String line(Map<String, Object> row) {
    StringBuilder line = new StringBuilder();
    row.forEach((name, value) -> line.append(name).append('=').append(text(value)).append("  "));
    return line.toString().stripTrailing();
  }

  /** Anything made of maps, lists and what {@link #read} gives, as indented JSON. */
  static String json(Object value) {
    try {
      return JSON.writeValueAsString(value);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("rows are JSON", e);
    }
  }

  private static String text(Object value) {
    return value instanceof JsonNode node && node.isTextual() ? node.textValue() : value.toString();
  }

  private static @Nullable Object value(@Nullable Object value) throws SQLException {
    if (value instanceof Timestamp time) {
      return time.toInstant().toString();
    }
    if (value instanceof OffsetDateTime time) {
      return time.toInstant().toString();
    }
    if (value instanceof Instant time) {
      return time.toString();
    }
    if (value instanceof Array array) {
      return List.of((Object[]) array.getArray());
    }
    if (value instanceof byte[] body) {
      return MaskedBody.json(body);
    }
    if (value instanceof PGobject object) {
      return object.getValue() == null ? null : tree(CardNumbers.masked(object.getValue()));
    }
    if (value instanceof String text) {
      return CardNumbers.masked(text);
    }
    return value == null || value instanceof Number || value instanceof Boolean
        ? value
        : value.toString();
  }

  private static Object tree(String json) {
    try {
      return JSON.readTree(json);
    } catch (JsonProcessingException e) {
      // Not every type of PostgreSQL's own is JSON: an interval, an address.
      return json;
    }
  }
}
