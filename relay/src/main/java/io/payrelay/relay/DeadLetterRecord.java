package io.payrelay.relay;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.Headers;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.jspecify.annotations.Nullable;

/**
 * What the headers of a record on the dead-letter topic say: it is a dead letter, or it says how an
 * earlier one was resolved. Stateless.
 */
final class DeadLetterRecord {

  static final String RELAY = "relay";
  static final String CHARGE_WORKER = "charge-worker";
  static final String OTHER = "other";
  static final String GAP = "gap";

  /** Headers that make a record a dead letter; the others are the original's. */
  static final List<String> OWN_HEADERS =
      List.of(
          "source",
          "reason_code",
          "reason",
          "original_type",
          "original_topic",
          "position",
          "payload_bytes",
          "payload_truncated");

  private static final String RESOLUTION = "resolution";
  private static final String RESOLVES = "resolves";
  private static final String RESOLVED_BY = "resolved_by";
  private static final String WHY = "why";
  private static final int TEXT_LENGTH_MAX = 1000;

  private DeadLetterRecord() {}

  /** How a dead letter was resolved. */
  record Resolution(String topicId, long offset, String kind, String by, String why) {}

  /** What is noted of a record; two that say the same in all of it are the same dead letter. */
  record Facts(
      Instant at,
      String source,
      @Nullable UUID eventId,
      @Nullable String eventType,
      @Nullable String aggregateId,
      @Nullable String originalTopic,
      String reasonCode,
      String reason) {

    /** What is noted where records are lost. */
    static Facts gap(Instant at, String reason) {
      return new Facts(at, GAP, null, null, null, null, GAP, reason);
    }

    /** Whether it is what was noted of a letter. */
    boolean areOf(DeadLetter letter) {
      return at.equals(letter.at())
          && source.equals(letter.source())
          && Objects.equals(eventId == null ? null : eventId.toString(), letter.eventId())
          && Objects.equals(eventType, letter.eventType())
          && Objects.equals(aggregateId, letter.aggregateId())
          && Objects.equals(originalTopic, letter.originalTopic())
          && reasonCode.equals(letter.reasonCode())
          && reason.equals(letter.reason());
    }
  }

  static Facts facts(ConsumerRecord<byte[], byte[]> read) {
    Headers headers = read.headers();
    String type = text(headers, "original_type");
    return new Facts(
        Instant.ofEpochMilli(read.timestamp()),
        source(headers),
        eventId(headers),
        type == null ? text(headers, "ce_type") : type,
        text(read.key()),
        text(headers, "original_topic"),
        orElse(text(headers, "reason_code"), "unknown"),
        orElse(text(headers, "reason"), "unknown"));
  }

  /** Whether that record is the letter that was noted. */
  static boolean isOf(DeadLetter letter, ConsumerRecord<byte[], byte[]> read) {
    return resolution(read) == null && facts(read).areOf(letter);
  }

  /** The record that says so. */
  static ProducerRecord<byte[], byte[]> marker(
      String topic, Resolution resolution, @Nullable String eventId, @Nullable String aggregateId) {
    RecordHeaders headers = new RecordHeaders();
    if (eventId != null) {
      headers.add("ce_id", eventId.getBytes(UTF_8));
    }
    headers.add(RESOLUTION, resolution.kind().getBytes(UTF_8));
    headers.add(RESOLVES, (resolution.topicId() + "/" + resolution.offset()).getBytes(UTF_8));
    headers.add(RESOLVED_BY, resolution.by().getBytes(UTF_8));
    headers.add(WHY, resolution.why().getBytes(UTF_8));
    byte[] key = aggregateId == null ? null : aggregateId.getBytes(UTF_8);
    return new ProducerRecord<>(topic, 0, key, new byte[0], headers);
  }

  /** What a record resolves; null where it is a dead letter itself. */
  static @Nullable Resolution resolution(ConsumerRecord<byte[], byte[]> read) {
    String kind = text(read.headers(), RESOLUTION);
    String resolves = text(read.headers(), RESOLVES);
    int slash = resolves == null ? -1 : resolves.lastIndexOf('/');
    if (kind == null || resolves == null || !resolves.matches("[^/]{1,64}/\\d{1,18}")) {
      return null;
    }
    if (!kind.equals(DeadLetter.REDRIVEN) && !kind.equals(DeadLetter.DISCARDED)) {
      return null;
    }
    return new Resolution(
        resolves.substring(0, slash),
        Long.parseLong(resolves.substring(slash + 1)),
        kind,
        orElse(text(read.headers(), RESOLVED_BY), "unknown"),
        orElse(text(read.headers(), WHY), "unknown"));
  }

  static String source(Headers headers) {
    String source = text(headers, "source");
    if (source != null && (source.equals(RELAY) || source.equals(CHARGE_WORKER))) {
      return source;
    }
    // Written before there was such a header.
    String position = text(headers, "position");
    if (text(headers, "reason") == null || position == null) {
      return OTHER;
    }
    return position.startsWith("offset ") ? CHARGE_WORKER : RELAY;
  }

  static @Nullable UUID eventId(Headers headers) {
    String id = text(headers, "ce_id");
    try {
      return id == null ? null : UUID.fromString(id);
    } catch (IllegalArgumentException e) {
      // Whoever wrote the original record has other ids: then no outbox row has it.
      return null;
    }
  }

  /** A header as text that PostgreSQL takes; null where it is missing. */
  static @Nullable String text(Headers headers, String name) {
    Header header = headers.lastHeader(name);
    return header == null ? null : text(header.value());
  }

  static @Nullable String text(byte @Nullable [] bytes) {
    if (bytes == null) {
      return null;
    }
    String text = new String(bytes, UTF_8).replace('\u0000', '\ufffd');
    int end = Math.min(text.length(), TEXT_LENGTH_MAX);
    // Half of a pair would come back from the database as another text.
    boolean cutsPair = end < text.length() && Character.isHighSurrogate(text.charAt(end - 1));
    return text.substring(0, cutsPair ? end - 1 : end);
  }

  static String orElse(@Nullable String text, String other) {
    return text == null || text.isEmpty() ? other : text;
  }
}
