package io.payrelay.relay;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.payrelay.schemas.EncodingException;
import io.payrelay.schemas.EventCodec;
import io.payrelay.schemas.EventType;
import io.payrelay.schemas.Topic;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.jspecify.annotations.Nullable;

/**
 * Outbox rows to Kafka records: Avro by event type with CloudEvents headers, or, where that cannot
 * be, a dead letter with the reason and the original. Belongs to one thread.
 */
final class RecordFactory {

  /** What Kafka adds around key, value and headers, and room for their lengths. */
  private static final int OVERHEAD_BYTES = 512;

  private static final int HEADER_OVERHEAD_BYTES = 10;

  /** A reason names fields, and a schema may nest them deeply. */
  private static final int REASON_LENGTH_MAX = 500;

  /** What is left of the original where the topic took less than it says. */
  private static final int SHORT_PAYLOAD_BYTES = 1024;

  /** Why a row became a dead letter, in a word to count by. */
  static final String TOO_LARGE = "too_large";

  private static final String CODEC_FAILED = "codec_failed";
  private static final String JSON_NULL = "json_null";

  /** What a word is that could be anything else; bounded, since meters are kept for each. */
  static final List<String> REASON_CODES =
      List.of("unknown_type", "not_json", "mismatch", TOO_LARGE, JSON_NULL, CODEC_FAILED);

  private static final String SHORTER_DEAD_LETTER = "dead-letter:";

  /** Different texts whose header bytes are kept. */
  private static final int REMEMBERED_MAX = 1000;

  private static final Header SPEC_VERSION = header("ce_specversion", "1.0");
  private static final Header AVRO = header("content-type", "application/avro");
  private static final Header JSON = header("content-type", "application/json");

  private final EventCodec codec;
  private final Map<String, Integer> recordBytesMax;
  private final Set<String> refusedEventIds;
  private final Map<String, Header> dataSchemas = new HashMap<>();
  private final Map<String, Header> types = new HashMap<>();
  private final Map<String, Header> sources = new HashMap<>();
  private long lastTimeUsec = Long.MIN_VALUE;
  private Header lastTime = header("ce_time", "");

  /**
   * A record to send.
   *
   * @param deadLetterCode null: it is the event
   */
  record Outgoing(ProducerRecord<byte[], byte[]> record, @Nullable String deadLetterCode) {

    boolean deadLetter() {
      return deadLetterCode != null;
    }
  }

  /** Notes that Kafka has refused what was made of an event as too large. */
  static void refused(Set<String> refusedEventIds, String eventId, Outgoing outgoing) {
    refusedEventIds.add(outgoing.deadLetter() ? SHORTER_DEAD_LETTER + eventId : eventId);
  }

  /**
   * Makes records.
   *
   * @param recordBytesMax by topic
   * @param refusedEventIds events that Kafka has refused as too large in an earlier session
   */
  RecordFactory(
      EventCodec codec, Map<String, Integer> recordBytesMax, Set<String> refusedEventIds) {
    this.codec = codec;
    for (EventType type : codec.catalogue().all()) {
      codec
          .dataSchema(type.name())
          .ifPresent(text -> dataSchemas.put(type.name(), header(EventCodec.DATA_SCHEMA, text)));
    }
    this.recordBytesMax = Map.copyOf(recordBytesMax);
    this.refusedEventIds = refusedEventIds;
  }

  /** The record of a row; never fails on account of what the row holds. */
  Outgoing of(OutboxRow row, long nowMs) {
    String topic = codec.catalogue().find(row.eventType()).map(EventType::topic).orElse("");
    byte[] value;
    try {
      value = codec.encode(row.eventType(), row.payload());
    } catch (EncodingException e) {
      return deadLetter(row, topic, code(e, row), reason(e), nowMs);
    } catch (RuntimeException e) {
      // One row must never stop the stream, not even by a fault of the codec.
      return deadLetter(
          row, topic, CODEC_FAILED, "codec failed: " + e.getClass().getSimpleName(), nowMs);
    }
    byte[] key = row.aggregateId().getBytes(UTF_8);
    RecordHeaders headers = cloudEvent(row);
    headers.add(AVRO);
    Header dataSchema = dataSchemas.get(row.eventType());
    if (dataSchema != null) {
      headers.add(dataSchema);
    }
    int limit = limitOf(topic);
    if (size(key, value, headers) > limit || refusedEventIds.contains(row.eventId())) {
      return deadLetter(
          row,
          topic,
          TOO_LARGE,
          "record is larger than the %d bytes of %s".formatted(limit, topic),
          nowMs);
    }
    return new Outgoing(new ProducerRecord<>(topic, null, nowMs, key, value, headers), null);
  }

  /** The largest record any topic takes. */
  int largestRecordBytes() {
    return recordBytesMax.values().stream()
        .mapToInt(Integer::intValue)
        .max()
        .orElse(Topics.RECORD_BYTES_MAX_DEFAULT);
  }

  private Outgoing deadLetter(OutboxRow row, String topic, String code, String reason, long nowMs) {
    byte[] key = row.aggregateId().getBytes(UTF_8);
    byte[] payload = row.payload().getBytes(UTF_8);
    RecordHeaders headers = cloudEvent(row);
    headers.add(JSON);
    headers.add(header("source", "relay"));
    headers.add(header("reason_code", code));
    headers.add(
        header("reason", reason.substring(0, Math.min(reason.length(), REASON_LENGTH_MAX))));
    headers.add(header("original_type", row.eventType()));
    headers.add(header("original_topic", topic));
    headers.add(header("position", Lsn.text(row.lsn()) + " of transaction " + row.txId()));
    headers.add(header("payload_bytes", Integer.toString(payload.length)));
    int room =
        refusedEventIds.contains(SHORTER_DEAD_LETTER + row.eventId())
            ? SHORT_PAYLOAD_BYTES
            : limitOf(Topic.DEAD_LETTER) - size(key, new byte[0], headers);
    byte[] value = payload.length <= room ? payload : prefix(payload, room);
    headers.add(header("payload_truncated", Boolean.toString(value.length < payload.length)));
    return new Outgoing(
        new ProducerRecord<>(Topic.DEAD_LETTER, null, nowMs, key, value, headers), code);
  }

  private RecordHeaders cloudEvent(OutboxRow row) {
    RecordHeaders headers = new RecordHeaders();
    headers.add(SPEC_VERSION);
    headers.add(header("ce_id", row.eventId()));
    headers.add(remembered(types, row.eventType(), type -> header("ce_type", type)));
    headers.add(
        remembered(
            sources, row.aggregateType(), type -> header("ce_source", "/payrelay/outbox/" + type)));
    headers.add(header("ce_subject", row.aggregateId()));
    headers.add(time(row.commitTimeUsec()));
    if (row.traceparent() != null) {
      headers.add(header("traceparent", row.traceparent()));
    }
    if (row.traceId() != null) {
      headers.add(header("trace_id", row.traceId()));
    }
    return headers;
  }

  /** Upstreams choose these texts: what they choose must not fill the memory. */
  private static Header remembered(
      Map<String, Header> headers, String text, Function<String, Header> make) {
    Header known = headers.get(text);
    if (known == null) {
      known = make.apply(text);
      if (headers.size() < REMEMBERED_MAX) {
        headers.put(text, known);
      }
    }
    return known;
  }

  /** Rows of one transaction share their commit time. */
  private Header time(long timeUsec) {
    if (timeUsec != lastTimeUsec) {
      lastTime = header("ce_time", Instant.EPOCH.plus(timeUsec, ChronoUnit.MICROS).toString());
      lastTimeUsec = timeUsec;
    }
    return lastTime;
  }

  private int limitOf(String topic) {
    return recordBytesMax.getOrDefault(topic, Topics.RECORD_BYTES_MAX_DEFAULT);
  }

  private static int size(byte[] key, byte[] value, Headers headers) {
    int bytes = OVERHEAD_BYTES + key.length + value.length;
    for (Header header : headers) {
      // Keys and values of headers are ASCII or bounded by the table: characters are near enough.
      bytes += HEADER_OVERHEAD_BYTES + header.key().length() + header.value().length;
    }
    return bytes;
  }

  /** Cuts between characters. */
  private static byte[] prefix(byte[] utf8, int room) {
    int end = Math.max(0, room);
    while (end > 0 && (utf8[end] & 0xC0) == 0x80) {
      end--;
    }
    return Arrays.copyOf(utf8, end);
  }

  private static String code(EncodingException e, OutboxRow row) {
    if (row.payload().strip().equals("null") && e.kind() == EncodingException.Kind.MISMATCH) {
      return JSON_NULL;
    }
    return e.kind().name().toLowerCase(Locale.ROOT);
  }

  private static String reason(EncodingException e) {
    return e.getMessage() == null ? "payload cannot be encoded" : e.getMessage();
  }

  private static Header header(String key, String value) {
    return new RecordHeader(key, value.getBytes(UTF_8));
  }
}
