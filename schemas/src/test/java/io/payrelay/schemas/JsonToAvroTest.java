package io.payrelay.schemas;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericData;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class JsonToAvroTest {

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final int STEPS_MAX = 20_000;

  private static Object convert(String schema, String json) throws Exception {
    JsonNode node = JSON.readTree(json);
    return JsonToAvro.convert(node, new Schema.Parser().parse(schema), STEPS_MAX);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "\"int\" | 2147483648",
        "\"int\" | -2147483649",
        "\"int\" | 1.0",
        "\"long\" | 92233720368547758080",
        "\"float\" | 1e39",
        "\"double\" | 1e400",
        "\"double\" | \"1\"",
        "\"boolean\" | 1",
        "\"boolean\" | \"true\"",
        "\"string\" | 1",
        "\"null\" | 0",
        "\"bytes\" | \"not base64!\"",
        "\"bytes\" | 1",
        "{\"type\": \"fixed\", \"name\": \"F\", \"size\": 4} | \"AAAA\"",
        "{\"type\": \"array\", \"items\": \"int\"} | {}",
        "{\"type\": \"array\", \"items\": \"int\"} | [1, \"2\"]",
        "{\"type\": \"map\", \"values\": \"int\"} | []",
        "{\"type\": \"map\", \"values\": \"int\"} | {\"a\": null}",
        "[\"null\", \"int\"] | \"1\"",
        "[\"int\", \"string\"] | null",
        "{\"type\": \"long\", \"logicalType\": \"time-micros\"} | \"10:00:00\"",
        "\"long\" | \"2026-03-01T10:20:30Z\"",
      })
  void refusesWhatDoesNotFit(String schema, String json) {
    assertThatThrownBy(() -> convert(schema, json)).isInstanceOf(EncodingException.class);
  }

  @Test
  void convertsEveryType() throws Exception {
    assertThat(convert("\"int\"", "-2147483648")).isEqualTo(Integer.MIN_VALUE);
    assertThat(convert("\"float\"", "1.5")).isEqualTo(1.5f);
    assertThat(convert("\"double\"", "3")).isEqualTo(3.0);
    assertThat(convert("\"bytes\"", "\"AQI=\"")).isEqualTo(ByteBuffer.wrap(new byte[] {1, 2}));
    assertThat(convert("{\"type\": \"fixed\", \"name\": \"F\", \"size\": 2}", "\"AQI=\""))
        .isInstanceOfSatisfying(
            GenericData.Fixed.class, fixed -> assertThat(fixed.bytes()).containsExactly(1, 2));
    assertThat(convert("{\"type\": \"array\", \"items\": [\"null\", \"int\"]}", "[1, null]"))
        .asInstanceOf(org.assertj.core.api.InstanceOfAssertFactories.LIST)
        .containsExactly(1, null);
    assertThat(convert("{\"type\": \"map\", \"values\": \"string\"}", "{\"a\": \"b\"}"))
        .isEqualTo(Map.of("a", "b"));
    assertThat(convert("[\"int\", \"string\"]", "\"a\"")).isEqualTo("a");
    assertThat(
            convert(
                "{\"type\": \"long\", \"logicalType\": \"timestamp-millis\"}",
                "\"1970-01-01T00:00:01.5Z\""))
        .isEqualTo(1500L);
  }

  @Test
  void namesTheWayToTheField() {
    String schema =
        """
        {"type": "record", "name": "R", "fields": [
          {"name": "items", "type": {"type": "array", "items": {"type": "record", "name": "I",
            "fields": [{"name": "n", "type": {"type": "map", "values": "int"}}]}}}]}
        """;

    assertThatThrownBy(
            () -> convert(schema, "{\"items\": [{\"n\": {}}, {\"n\": {\"secret\": \"x\"}}]}"))
        .hasMessage("payload.items[1].n.* is not a whole number of 32 bits");
  }

  @Test
  void refusesWhatIsNestedTooDeep() throws Exception {
    String schema =
        """
        {"type": "record", "name": "R", "fields": [{"name": "r", "type": ["null", "R"], "default": null}]}
        """;

    assertThat(convert(schema, nested(20))).isNotNull();
    assertThatThrownBy(() -> convert(schema, nested(60)))
        .hasMessageContaining("is nested deeper than 64");
  }

  private static String nested(int depth) {
    return "{\"r\": ".repeat(depth) + "null" + "}".repeat(depth);
  }

  @Test
  void fillsDefaultsOfFieldsThatAreMissingOnly() throws Exception {
    String schema =
        """
        {"type": "record", "name": "R", "fields": [
          {"name": "a", "type": {"type": "array", "items": "int"}, "default": [1]},
          {"name": "b", "type": "string", "default": "x"}]}
        """;

    assertThat(((GenericData.Record) convert(schema, "{}")).get("a")).isEqualTo(List.of(1));
    assertThatThrownBy(() -> convert(schema, "{\"b\": null}"))
        .hasMessage("payload.b is not a string");
  }

  @Test
  void refusesTextThatConsumersCouldNotKeep() throws Exception {
    String map = "{\"type\": \"map\", \"values\": \"int\"}";

    assertThatThrownBy(() -> convert("\"string\"", "\"a\\ud800b\""))
        .hasMessageContaining("half a surrogate pair");
    assertThatThrownBy(() -> convert("\"string\"", "\"\\udc00\\ud800\""))
        .isInstanceOf(EncodingException.class);
    assertThatThrownBy(() -> convert(map, "{\"\\ud800\": 1}"))
        .isInstanceOf(EncodingException.class);
    assertThatThrownBy(() -> convert("\"string\"", "\"a\\u0000\""))
        .hasMessage("payload is not text: it has half a surrogate pair or a NUL");
    assertThat(convert("\"string\"", "\"\\ud83d\\ude00\"")).isEqualTo("\ud83d\ude00");
  }

  @Test
  void givesUpWhereAUnionOfRecordsWouldBeTriedInAllCombinations() {
    String schema =
        "[{\"type\": \"record\", \"name\": \"A\", \"fields\": [{\"name\": \"r\", \"type\": [\"null\", \"A\","
            + " {\"type\": \"record\", \"name\": \"B\", \"fields\": [{\"name\": \"r\","
            + " \"type\": [\"null\", \"A\", \"B\"]}]}]}]}]";

    assertThatThrownBy(() -> convert(schema, "{\"r\": ".repeat(29) + "7" + "}".repeat(29)))
        .hasMessage("payload takes more than 20000 steps to convert");
  }
}
