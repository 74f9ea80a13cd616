package io.payrelay.schemas;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.Map;
import java.util.Optional;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.avro.SchemaNormalization;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.DecoderFactory;
import org.apache.avro.io.EncoderFactory;
import org.jspecify.annotations.Nullable;

/**
 * JSON payloads to Avro bytes and back to records. Written in one of two framings: Avro's
 * single-object one (two marker bytes, the schema's 64-bit fingerprint, the body), which needs no
 * registry, or Confluent's (a zero byte, the 32-bit id that a registry gave the schema, the body).
 * Reads both, without any registry: what Payrelay writes in Confluent's framing says the
 * fingerprint in the header {@link #DATA_SCHEMA}. Not thread-safe: one a thread.
 */
public final class EventCodec {

  /** CloudEvents' attribute for the schema of a record's value. */
  public static final String DATA_SCHEMA = "ce_dataschema";

  private static final String DATA_SCHEMA_PREFIX = "urn:avro:crc-64-avro:";
  private static final int MARKER = 0xC301;
  private static final int HEADER_BYTES = 10;
  private static final int CONFLUENT_HEADER_BYTES = 5;

  /** More fits into no topic, and a schema's defaults can make very much of a small payload. */
  private static final int ENCODED_BYTES_MAX = 16 * 1024 * 1024;

  /** More than any payload needs whose unions can be told apart. */
  private static final int STEPS_FOR_CHARACTER = 4;

  private static final int STEPS_MORE = 10_000;

  private static final int BUFFER_BYTES = 1024;
  private static final int BUFFER_BYTES_KEPT = 1024 * 1024;

  private static final ObjectReader JSON =
      JsonMapper.builder()
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .build()
          .reader();

  private final EventCatalogue catalogue;
  private final Map<String, Writer> writers = new HashMap<>();
  private final Map<String, String> dataSchemas = new HashMap<>();
  private final Map<Long, Schema> schemas = new HashMap<>();
  private final BoundedBuffer buffer = new BoundedBuffer();
  private final BinaryEncoder encoder = EncoderFactory.get().directBinaryEncoder(buffer, null);

  private record Writer(EventType type, byte[] header, GenericDatumWriter<Object> datum) {}

  /** Takes up to a limit, and does not keep the memory of the largest record for good. */
  private static final class BoundedBuffer extends ByteArrayOutputStream {

    private boolean full;

    BoundedBuffer() {
      super(BUFFER_BYTES);
    }

    @Override
    public synchronized void write(int b) {
      if (fits(1)) {
        super.write(b);
      }
    }

    @Override
    public synchronized void write(byte[] bytes, int offset, int length) {
      if (fits(length)) {
        super.write(bytes, offset, length);
      }
    }

    @Override
    public synchronized void reset() {
      super.reset();
      full = false;
      if (buf.length > BUFFER_BYTES_KEPT) {
        buf = new byte[BUFFER_BYTES];
      }
    }

    private boolean fits(int length) {
      full = full || length > ENCODED_BYTES_MAX - count;
      return !full;
    }
  }

  /** A codec for the catalogue's types that writes the single-object framing. */
  public EventCodec(EventCatalogue catalogue) {
    this(catalogue, false, Map.of());
  }

  /**
   * A codec for the catalogue's types that writes Confluent's framing.
   *
   * @param ids what the registry has given each event type's schema
   */
  public static EventCodec confluent(EventCatalogue catalogue, Map<String, Integer> ids) {
    return new EventCodec(catalogue, true, ids);
  }

  private EventCodec(EventCatalogue catalogue, boolean confluent, Map<String, Integer> ids) {
    this.catalogue = catalogue;
    for (EventType type : catalogue.all()) {
      long fingerprint = SchemaNormalization.parsingFingerprint64(type.schema());
      schemas.put(fingerprint, type.schema());
      Integer id = ids.get(type.name());
      if (confluent && id == null) {
        throw new IllegalArgumentException("no schema id for event type " + type.name());
      }
      byte[] header =
          id == null
              ? ByteBuffer.allocate(HEADER_BYTES)
                  .putShort((short) MARKER)
                  .order(ByteOrder.LITTLE_ENDIAN)
                  .putLong(fingerprint)
                  .array()
              : ByteBuffer.allocate(CONFLUENT_HEADER_BYTES).put((byte) 0).putInt(id).array();
      writers.put(type.name(), new Writer(type, header, new GenericDatumWriter<>(type.schema())));
    }
    if (confluent) {
      catalogue.all().forEach(type -> dataSchemas.put(type.name(), dataSchema(type.schema())));
    }
  }

  /** The value of the header {@link #DATA_SCHEMA} for a type; empty where it is not needed. */
  public Optional<String> dataSchema(String eventType) {
    return Optional.ofNullable(dataSchemas.get(eventType));
  }

  /**
   * Encodes a payload.
   *
   * @throws EncodingException where the type is unknown or the payload does not fit its schema
   */
  public byte[] encode(String eventType, String json) throws EncodingException {
    Writer writer = writers.get(eventType);
    if (writer == null) {
      throw new EncodingException(
          EncodingException.Kind.UNKNOWN_TYPE,
          "event type " + eventType + " is not in the catalogue");
    }
    JsonNode node = parse(json);
    int stepsMax = STEPS_FOR_CHARACTER * json.length() + STEPS_MORE;
    Object value = JsonToAvro.convert(node, writer.type().schema(), stepsMax);
    buffer.reset();
    buffer.writeBytes(writer.header());
    try {
      writer.datum().write(value, encoder);
      encoder.flush();
    } catch (IOException | AvroRuntimeException e) {
      // Without the cause: Avro's messages quote values.
      throw new EncodingException("payload does not fit the schema of " + eventType);
    }
    if (buffer.full) {
      throw new EncodingException(
          EncodingException.Kind.TOO_LARGE,
          "payload has more than %d bytes when encoded".formatted(ENCODED_BYTES_MAX));
    }
    return buffer.toByteArray();
  }

  /**
   * Decodes a record of a known schema, in either framing.
   *
   * @param dataSchema the record's header {@link #DATA_SCHEMA}; null: it has none
   * @throws EncodingException where the bytes are none
   */
  public GenericRecord decode(byte[] bytes, byte @Nullable [] dataSchema) throws EncodingException {
    if (bytes.length >= HEADER_BYTES && ByteBuffer.wrap(bytes).getShort() == (short) MARKER) {
      long fingerprint = ByteBuffer.wrap(bytes, 2, 8).order(ByteOrder.LITTLE_ENDIAN).getLong();
      return decode(bytes, HEADER_BYTES, fingerprint);
    }
    if (bytes.length >= CONFLUENT_HEADER_BYTES && bytes[0] == 0) {
      return decode(bytes, CONFLUENT_HEADER_BYTES, fingerprint(dataSchema));
    }
    throw new EncodingException("not a record in single-object or Confluent's framing");
  }

  /** Decodes a record without headers. */
  public GenericRecord decode(byte[] bytes) throws EncodingException {
    return decode(bytes, null);
  }

  private GenericRecord decode(byte[] bytes, int from, long fingerprint) throws EncodingException {
    Schema schema = schemas.get(fingerprint);
    if (schema == null) {
      throw new EncodingException(
          "schema with fingerprint " + Long.toHexString(fingerprint) + " is not known");
    }
    try {
      // Walked through first: a length is believed only where so many bytes follow, not where it
      // would merely be memory to take.
      GenericDatumReader.skip(schema, body(bytes, from));
      return new GenericDatumReader<GenericRecord>(schema).read(null, body(bytes, from));
    } catch (IOException | RuntimeException e) {
      // Avro throws whatever comes of damaged bytes. Without the cause: its messages quote values.
      throw new EncodingException(
          "record of %s is damaged: %s".formatted(schema.getName(), e.getClass().getSimpleName()));
    }
  }

  /** The types this codec knows. */
  public EventCatalogue catalogue() {
    return catalogue;
  }

  private static String dataSchema(Schema schema) {
    return DATA_SCHEMA_PREFIX
        + HexFormat.of().toHexDigits(SchemaNormalization.parsingFingerprint64(schema));
  }

  private static long fingerprint(byte @Nullable [] dataSchema) throws EncodingException {
    String text = dataSchema == null ? "" : new String(dataSchema, StandardCharsets.US_ASCII);
    try {
      if (text.startsWith(DATA_SCHEMA_PREFIX)) {
        return HexFormat.fromHexDigitsToLong(text, DATA_SCHEMA_PREFIX.length(), text.length());
      }
    } catch (IllegalArgumentException e) {
      throw new EncodingException("header " + DATA_SCHEMA + " holds no fingerprint");
    }
    throw new EncodingException(
        "record in Confluent's framing without a fingerprint in header " + DATA_SCHEMA);
  }

  private static BinaryDecoder body(byte[] bytes, int from) {
    return DecoderFactory.get().binaryDecoder(bytes, from, bytes.length - from, null);
  }

  private static JsonNode parse(String json) throws EncodingException {
    try {
      JsonNode node = JSON.readTree(json);
      if (node == null || node.isMissingNode()) {
        throw new EncodingException(EncodingException.Kind.NOT_JSON, "payload is empty");
      }
      return node;
    } catch (JsonProcessingException e) {
      // Jackson's own message quotes the payload.
      throw new EncodingException(
          EncodingException.Kind.NOT_JSON,
          "payload is not one JSON value of bounded depth, or names a field twice");
    }
  }
}
