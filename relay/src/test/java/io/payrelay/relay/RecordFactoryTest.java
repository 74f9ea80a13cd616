package io.payrelay.relay;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.EventCodec;
import io.payrelay.schemas.Topic;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.junit.jupiter.api.Test;

class RecordFactoryTest {

  private static final String CHARGE =
      """
      {"payment_id":"%s","merchant":"m","merchant_order_id":"o","provider":"p",
       "amount_minor":100,"currency":"EUR","trace_id":null}
      """;

  private final EventCodec codec = new EventCodec(EventCatalogue.builtIn());
  private final RecordFactory factory = new RecordFactory(codec, Map.of(), Set.of("refused"));

  @Test
  void rowBecomesAvroWithCloudEventHeaders() throws Exception {
    RecordFactory.Outgoing outgoing = factory.of(row("1", "ChargeRequested", charge("x")), 42);

    ProducerRecord<byte[], byte[]> record = outgoing.record();
    assertThat(outgoing.deadLetter()).isFalse();
    assertThat(record.topic()).isEqualTo(Topic.CHARGE_REQUESTS);
    assertThat(record.timestamp()).isEqualTo(42);
    assertThat(new String(record.key(), UTF_8)).isEqualTo("payment-1");
    assertThat(codec.decode(record.value()).get("amount_minor")).isEqualTo(100L);
    assertThat(header(record, "ce_specversion")).isEqualTo("1.0");
    assertThat(header(record, "ce_id")).isEqualTo("1");
    assertThat(header(record, "ce_type")).isEqualTo("ChargeRequested");
    assertThat(header(record, "ce_source")).isEqualTo("/payrelay/outbox/payment");
    assertThat(header(record, "ce_subject")).isEqualTo("payment-1");
    assertThat(header(record, "ce_time")).isEqualTo("1970-01-01T00:00:01.000002Z");
    assertThat(header(record, "content-type")).isEqualTo("application/avro");
    assertThat(header(record, "trace_id")).isEqualTo("trace");
    assertThat(record.headers().lastHeader("traceparent")).isNull();
  }

  @Test
  void rowThatCannotBeEncodedBecomesADeadLetterWithItsOriginal() {
    for (String[] poison :
        new String[][] {
          {"NobodyKnows", "{}"},
          {"ChargeRequested", "{\"payment_id\":1}"},
          {"ChargeRequested", "null"}
        }) {
      RecordFactory.Outgoing outgoing = factory.of(row("1", poison[0], poison[1]), 42);

      ProducerRecord<byte[], byte[]> record = outgoing.record();
      assertThat(outgoing.deadLetter()).isTrue();
      assertThat(record.topic()).isEqualTo(Topic.DEAD_LETTER);
      assertThat(new String(record.value(), UTF_8)).isEqualTo(poison[1]);
      assertThat(header(record, "reason")).isNotBlank();
      assertThat(header(record, "original_type")).isEqualTo(poison[0]);
      assertThat(header(record, "position")).isEqualTo("0/64 of transaction 9");
      assertThat(header(record, "payload_truncated")).isEqualTo("false");
    }
  }

  @Test
  void recordLargerThanItsTopicTakesBecomesATruncatedDeadLetter() {
    RecordFactory small =
        new RecordFactory(
            codec, Map.of(Topic.CHARGE_REQUESTS, 3000, Topic.DEAD_LETTER, 3000), Set.of());

    ProducerRecord<byte[], byte[]> record =
        small.of(row("1", "ChargeRequested", charge("\u20ac".repeat(2000))), 42).record();

    assertThat(record.topic()).isEqualTo(Topic.DEAD_LETTER);
    assertThat(record.value().length).isBetween(500, 3000);
    assertThat(new String(record.value(), UTF_8)).doesNotContain("\ufffd");
    assertThat(header(record, "payload_truncated")).isEqualTo("true");
    assertThat(header(record, "reason")).contains("larger");
  }

  @Test
  void eventThatKafkaRefusedBecomesADeadLetter() {
    assertThat(factory.of(row("refused", "ChargeRequested", charge("x")), 42).deadLetter())
        .isTrue();
  }

  private static String charge(String paymentId) {
    return CHARGE.formatted(paymentId);
  }

  private static OutboxRow row(String eventId, String type, String payload) {
    return new OutboxRow(
        eventId, "payment", "payment-1", type, payload, "trace", null, 9, 100, 1_000_002);
  }

  private static String header(ProducerRecord<byte[], byte[]> record, String name) {
    Header header = record.headers().lastHeader(name);
    return new String(header.value(), UTF_8);
  }
}
