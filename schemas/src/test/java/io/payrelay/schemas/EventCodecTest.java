package io.payrelay.schemas;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;
import org.apache.avro.message.BinaryMessageDecoder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class EventCodecTest {

  private static final String CHARGE =
      """
      {"payment_id": "pay_0001", "merchant": "shop", "merchant_order_id": "o1",
       "provider": "simulator", "amount_minor": 1250, "currency": "EUR"%s}
      """;
  private static final String STATUS =
      """
      {"payment_id": "pay_0001", "merchant": "shop", "merchant_order_id": "o1",
       "status": "%s", "previous_status": "PENDING", "amount_minor": 1250, "currency": "EUR",
       "provider": "simulator", "occurred_at": %s, "version": 3}
      """;

  private final EventCodec codec = new EventCodec(EventCatalogue.builtIn());

  @Test
  void keepsEveryFieldAndFillsDefaults() throws Exception {
    GenericRecord record = codec.decode(codec.encode("ChargeRequested", CHARGE.formatted("")));

    assertThat(record.get("payment_id")).hasToString("pay_0001");
    assertThat(record.get("amount_minor")).isEqualTo(1250L);
    assertThat(record.get("trace_id")).isNull();
  }

  @Test
  void framesAsAvroItselfDoes() throws Exception {
    byte[] bytes = codec.encode("ChargeRequested", CHARGE.formatted(", \"trace_id\": \"t\""));

    GenericRecord record =
        new BinaryMessageDecoder<GenericRecord>(
                GenericData.get(), codec.catalogue().find("ChargeRequested").orElseThrow().schema())
            .decode(bytes);

    assertThat(record.get("trace_id")).hasToString("t");
  }

  @Test
  void stopsWhereASmallPayloadBecomesVeryLarge(@TempDir Path folder) throws Exception {
    Files.writeString(
        folder.resolve("event-catalogue.json"),
        "[{\"event_type\": \"Many\", \"schema\": \"Many.avsc\", \"topic\": \"many\"}]");
    Files.writeString(
        folder.resolve("Many.avsc"),
        """
        {"type": "record", "name": "Many", "fields": [{"name": "items", "type": {"type": "array", "items":
          {"type": "record", "name": "Item", "fields": [{"name": "text", "type": "string", "default": "%s"}]}}}]}
        """
            .formatted("x".repeat(50_000)));
    EventCodec many = new EventCodec(EventCatalogue.withFolder(folder));

    assertThatThrownBy(() -> many.encode("Many", "{\"items\": [" + "{},".repeat(400) + "{}]}"))
        .hasMessage("payload has more than 16777216 bytes when encoded");
    assertThat(many.encode("Many", "{\"items\": [{}]}")).hasSizeBetween(50_000, 50_100);
  }

  @Test
  void takesAnExplicitNullAsNull() throws Exception {
    byte[] bytes = codec.encode("ChargeRequested", CHARGE.formatted(", \"trace_id\": null"));

    assertThat(codec.decode(bytes).get("trace_id")).isNull();
  }

  @ParameterizedTest
  @CsvSource({
    "\"2026-03-01T10:20:30.123456Z\"",
    "\"2026-03-01T10:20:30.123456789Z\"",
    "1772360430123456",
  })
  void takesInstantsAsIsoOrAsNumbers(String occurredAt) throws Exception {
    byte[] bytes = codec.encode("PaymentStatusChanged", STATUS.formatted("SUCCEEDED", occurredAt));

    long micros = (long) codec.decode(bytes).get("occurred_at");
    assertThat(Instant.EPOCH.plus(micros, ChronoUnit.MICROS))
        .isEqualTo(Instant.parse("2026-03-01T10:20:30.123456Z"));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{\"payment_id\": \"canary\"} | payload.merchant is missing",
        "null | payload is not an object",
        "[] | payload is not an object",
        "\"canary\" | payload is not an object",
        "'' | payload is empty",
        "{\"canary\" | payload is not one JSON value",
        "{} {} | payload is not one JSON value",
      })
  void refusesWhatIsNoPayload(String json, String message) {
    refuses("ChargeRequested", json, message);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "\"amount_minor\": 1250 | \"amount_minor\": 12.5 | .amount_minor is not a whole number of 64 bits",
        "\"amount_minor\": 1250 | \"amount_minor\": 1e3 | .amount_minor is not a whole number",
        "\"amount_minor\": 1250 | \"amount_minor\": 9223372036854775808 | .amount_minor is not",
        "\"amount_minor\": 1250 | \"amount_minor\": \"canary\" | .amount_minor is not",
        "\"amount_minor\": 1250 | \"amount_minor\": null | .amount_minor is not",
        "\"amount_minor\": 1250 | \"amount_minor\": true | .amount_minor is not",
        "\"merchant\": \"shop\" | \"merchant\": 5 | payload.merchant is not a string",
        "\"merchant\": \"shop\" | \"merchant\": null | payload.merchant is not a string",
        "\"merchant\": \"shop\" | \"merchant\": {\"string\": \"canary\"} | payload.merchant is not",
        "\"merchant\": \"shop\" | \"canary\": 5, \"merchant\": \"shop\" | payload has a field that the schema does not know",
        "\"merchant\": \"shop\" | \"merchant\": \"shop\", \"merchant\": \"canary\" | names a field twice",
        "\"currency\": \"EUR\" | \"currency\": \"EUR\", \"trace_id\": 7 | payload.trace_id is not a string",
      })
  void refusesWhatDoesNotFit(String right, String wrong, String message) {
    refuses("ChargeRequested", CHARGE.formatted("").replace(right, wrong), message);
  }

  @ParameterizedTest
  @ValueSource(strings = {"canary", "succeeded", ""})
  void refusesAnUnknownEnumSymbol(String status) {
    refuses("PaymentStatusChanged", STATUS.formatted(status, "0"), "payload.status is not one of");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"\"canary\"", "\"2026-02-30T00:00:00Z\"", "\"+1000000000-01-01T00:00:00Z\""})
  void refusesWhatIsNoInstant(String instant) {
    refuses(
        "PaymentStatusChanged",
        STATUS.formatted("FAILED", instant),
        "payload.occurred_at is not an ISO 8601 instant");
  }

  @Test
  void refusesAnUnknownType() {
    refuses("Unheard", "{}", "event type Unheard is not in the catalogue");
  }

  @Test
  void refusesJsonNestedWithoutEnd() {
    refuses("ChargeRequested", "[".repeat(100_000), "payload is not one JSON value");
  }

  @Test
  void framesAsConfluentDoesAndReadsItWithoutARegistry() throws Exception {
    EventCatalogue catalogue = EventCatalogue.builtIn();
    EventCodec confluent =
        EventCodec.confluent(
            catalogue,
            Map.of(
                "ChargeRequested", 0x01020304,
                "PaymentStatusChanged", 2,
                "RefundRequested", 3,
                "RefundStatusChanged", 4));
    byte[] plain = codec.encode("ChargeRequested", CHARGE.formatted(""));

    byte[] bytes = confluent.encode("ChargeRequested", CHARGE.formatted(""));

    assertThat(bytes).startsWith(0, 1, 2, 3, 4).hasSize(plain.length - 5);
    String dataSchema = confluent.dataSchema("ChargeRequested").orElseThrow();
    assertThat(dataSchema).matches("urn:avro:crc-64-avro:[0-9a-f]{16}");
    assertThat(codec.decode(bytes, dataSchema.getBytes(UTF_8))).isEqualTo(codec.decode(plain));
    assertThat(codec.dataSchema("ChargeRequested")).isEmpty();
    assertThatThrownBy(() -> codec.decode(bytes))
        .isInstanceOf(EncodingException.class)
        .hasMessageContaining("without a fingerprint in header ce_dataschema");
    for (String wrong : List.of("urn:avro:crc-64-avro:", "urn:avro:crc-64-avro:xyz", "x")) {
      assertThatThrownBy(() -> codec.decode(bytes, wrong.getBytes(UTF_8)))
          .isInstanceOf(EncodingException.class);
    }
    assertThatThrownBy(() -> EventCodec.confluent(catalogue, Map.of()))
        .hasMessageContaining("no schema id");
  }

  @Test
  void refusesForeignAndDamagedBytes() throws Exception {
    byte[] bytes = codec.encode("ChargeRequested", CHARGE.formatted(""));
    byte[] foreign = bytes.clone();
    foreign[4] ^= 1;

    assertThatThrownBy(() -> codec.decode(new byte[3]))
        .hasMessageContaining("single-object or Confluent's framing");
    assertThatThrownBy(() -> codec.decode(foreign)).hasMessageContaining("is not known");
    assertThatThrownBy(() -> codec.decode(java.util.Arrays.copyOf(bytes, bytes.length - 3)))
        .hasMessageContaining("is damaged");
  }

  @ParameterizedTest
  @ValueSource(longs = {2_147_483_647L, 1_500_000_000L, -1L, Long.MAX_VALUE, Long.MIN_VALUE})
  void refusesALengthThatTheBytesDoNotHave(long length) throws Exception {
    ByteArrayOutputStream damaged = new ByteArrayOutputStream();
    damaged.write(codec.encode("ChargeRequested", CHARGE.formatted("")), 0, 10);
    BinaryEncoder encoder = EncoderFactory.get().directBinaryEncoder(damaged, null);
    encoder.writeLong(length);
    damaged.writeBytes("canary".getBytes(UTF_8));

    assertThatThrownBy(() -> codec.decode(damaged.toByteArray()))
        .isInstanceOf(EncodingException.class)
        .hasMessageContaining("is damaged")
        .hasMessageNotContaining("canary")
        .hasNoCause();
  }

  @Test
  void encodesRightAfterARefusal() throws Exception {
    byte[] before = codec.encode("ChargeRequested", CHARGE.formatted(""));
    refuses("ChargeRequested", "{}", "is missing");

    assertThat(codec.encode("ChargeRequested", CHARGE.formatted(""))).isEqualTo(before);
  }

  /** The message, and the whole trace that a log would hold, repeat no value. */
  private void refuses(String type, String json, String message) {
    assertThatThrownBy(() -> codec.encode(type, json))
        .isInstanceOf(EncodingException.class)
        .hasMessageContaining(message)
        .satisfies(
            e -> {
              StringWriter trace = new StringWriter();
              e.printStackTrace(new PrintWriter(trace));
              assertThat(trace.toString()).doesNotContain("canary");
            });
  }
}
