package io.payrelay.relay;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Instant;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.junit.jupiter.api.Test;

class DeadLetterRecordTest {

  private static final Instant AT = Instant.parse("2026-11-29T12:00:00.123Z");
  private static final UUID EVENT_ID = UUID.randomUUID();
  private static final Map<String, String> HEADERS =
      Map.of(
          "ce_id", EVENT_ID.toString(),
          "source", "charge-worker",
          "original_type", "ChargeRequested",
          "original_topic", "payrelay.charge-requests",
          "reason_code", "refused",
          "reason", "no payment");

  private static final DeadLetter LETTER =
      new DeadLetter(
          "17",
          AT,
          "charge-worker",
          EVENT_ID.toString(),
          "ChargeRequested",
          "pay_1",
          "payrelay.charge-requests",
          "refused",
          "no payment",
          null,
          null,
          null);

  @Test
  void anotherRecordAtTheSameOffsetIsToldByAnyOfWhatWasNoted() {
    assertThat(DeadLetterRecord.isOf(LETTER, record(AT, "pay_1", HEADERS))).isTrue();
    assertThat(DeadLetterRecord.isOf(LETTER, record(AT.plusMillis(1), "pay_1", HEADERS))).isFalse();
    assertThat(DeadLetterRecord.isOf(LETTER, record(AT, "pay_2", HEADERS))).isFalse();
    for (String name : HEADERS.keySet()) {
      Map<String, String> other = new TreeMap<>(HEADERS);
      other.put(name, name.equals("ce_id") ? UUID.randomUUID().toString() : "relay");
      assertThat(DeadLetterRecord.isOf(LETTER, record(AT, "pay_1", other))).as(name).isFalse();
    }
    Map<String, String> marker = new TreeMap<>(HEADERS);
    marker.put("resolution", "DISCARDED");
    marker.put("resolves", "t/1");
    assertThat(DeadLetterRecord.isOf(LETTER, record(AT, "pay_1", marker))).isFalse();
  }

  @Test
  void aTextIsNotCutInAPair() {
    String pair = new String(Character.toChars(0x1F600));

    assertThat(DeadLetterRecord.text(("x".repeat(999) + pair).getBytes(UTF_8)))
        .isEqualTo("x".repeat(999));
    assertThat(DeadLetterRecord.text(("x".repeat(998) + pair).getBytes(UTF_8))).endsWith(pair);
  }

  private static ConsumerRecord<byte[], byte[]> record(
      Instant at, String key, Map<String, String> headers) {
    RecordHeaders made = new RecordHeaders();
    headers.forEach((name, value) -> made.add(name, value.getBytes(UTF_8)));
    return new ConsumerRecord<>(
        "payrelay.dead-letter",
        0,
        17,
        at.toEpochMilli(),
        TimestampType.CREATE_TIME,
        0,
        0,
        key.getBytes(UTF_8),
        new byte[0],
        made,
        Optional.empty());
  }
}
