package io.payrelay.chargeworker;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.schemas.Topic;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Test;

/** Kafka's own fake stands for Kafka. */
class DeadLettersTest {

  private final MockProducer<byte[], byte[]> kafka =
      new MockProducer<>(true, null, new ByteArraySerializer(), new ByteArraySerializer());
  private final DeadLetters letters = new DeadLetters(() -> kafka);

  @Test
  void keepsKeyValueHeadersAndPositionOfWhatIsSetAside() {
    ConsumerRecord<byte[], byte[]> source =
        new ConsumerRecord<>(
            Topic.CHARGE_REQUESTS, 7, 4_711, "payment_1".getBytes(UTF_8), "poison".getBytes(UTF_8));
    source.headers().add("ce_type", "ChargeRequested".getBytes(UTF_8));
    source.headers().add("ce_id", "event-1".getBytes(UTF_8));
    // Of an earlier life as a dead letter.
    source.headers().add("reason", "another one".getBytes(UTF_8));

    letters.add(source, "value is damaged");
    letters.flush();

    assertThat(kafka.history()).hasSize(1);
    ProducerRecord<byte[], byte[]> letter = kafka.history().get(0);
    assertThat(letter.topic()).isEqualTo(Topic.DEAD_LETTER);
    assertThat(letter.key()).isEqualTo(source.key());
    assertThat(letter.value()).isEqualTo(source.value());
    assertThat(headers(letter))
        .containsExactlyInAnyOrderEntriesOf(
            Map.of(
                "ce_type", "ChargeRequested",
                "ce_id", "event-1",
                "source", "charge-worker",
                "reason_code", "refused",
                "reason", "value is damaged",
                "original_topic", Topic.CHARGE_REQUESTS,
                "position", "offset 4711 of partition 7",
                "payload_truncated", "false"));
    assertThat(letter.headers().toArray()).hasSize(8);
  }

  @Test
  void saysThatAHugeValueWasCut() {
    letters.add(
        new ConsumerRecord<>(Topic.REFUND_REQUESTS, 0, 1, null, new byte[2_000_000]), "too long");
    letters.flush();

    ProducerRecord<byte[], byte[]> letter = kafka.history().get(0);
    assertThat(letter.value()).hasSize(900_000);
    assertThat(headers(letter)).containsEntry("payload_truncated", "true");
  }

  private static Map<String, String> headers(ProducerRecord<byte[], byte[]> letter) {
    Map<String, String> headers = new LinkedHashMap<>();
    letter
        .headers()
        .forEach(header -> headers.put(header.key(), new String(header.value(), UTF_8)));
    return headers;
  }
}
