package io.payrelay.chargeworker;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.schemas.EncodingException;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.EventCodec;
import io.payrelay.schemas.Topic;
import java.util.Arrays;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.junit.jupiter.api.Test;

class RecordReaderTest {

  private final RecordReader reader = new RecordReader(EventCatalogue.builtIn());

  @Test
  void readsOnAfterRecordsThatCannotBeRead() throws EncodingException {
    byte[] good = event();
    // A string of 2 147 483 647 bytes in a few bytes.
    byte[] huge = Arrays.copyOf(good, 15);
    byte[] length = {(byte) 0xfe, (byte) 0xff, (byte) 0xff, (byte) 0xff, 0x0f};
    System.arraycopy(length, 0, huge, 10, length.length);

    assertThat(read("ChargeRequested".getBytes(UTF_8), huge).problem()).contains("is damaged");
    assertThat(read(null, good).problem()).isEqualTo("ce_type is not ChargeRequested");
    assertThat(read("ChargeRequested".getBytes(UTF_8), good).trigger())
        .extracting(Trigger::paymentId)
        .isEqualTo("payment_1");
  }

  @Test
  void readsConfluentsFramingByTheFingerprintInItsHeader() throws EncodingException {
    EventCodec confluent =
        EventCodec.confluent(
            EventCatalogue.builtIn(),
            Map.of(
                "ChargeRequested", 7,
                "PaymentStatusChanged", 8,
                "RefundRequested", 9,
                "RefundStatusChanged", 10));
    ConsumerRecord<byte[], byte[]> source =
        new ConsumerRecord<>(Topic.CHARGE_REQUESTS, 0, 0, new byte[0], event(confluent));
    source.headers().add("ce_type", "ChargeRequested".getBytes(UTF_8));

    assertThat(reader.read(source, 0).problem()).contains("ce_dataschema");
    source
        .headers()
        .add(
            EventCodec.DATA_SCHEMA,
            confluent.dataSchema("ChargeRequested").orElseThrow().getBytes(UTF_8));
    assertThat(reader.read(source, 0).trigger())
        .extracting(Trigger::paymentId)
        .isEqualTo("payment_1");
  }

  @Test
  void readsRefundsFromTheirTopicOnly() throws EncodingException {
    EventCodec codec = new EventCodec(EventCatalogue.builtIn());
    String json =
        """
        {"refund_id":"refund_1","payment_id":"payment_1","amount_minor":1,"currency":"USD"}""";
    byte[] refund = codec.encode("RefundRequested", json);

    assertThat(read(Topic.REFUND_REQUESTS, "RefundRequested", refund).trigger())
        .isEqualTo(
            new Trigger(
                "payment_1",
                null,
                new RefundTrigger(
                    "refund_1", new RefundTrigger.Terms("payment_1", null, null, 1, "USD"))));
    assertThat(read(Topic.REFUND_REQUESTS, "ChargeRequested", event()).problem())
        .isEqualTo("ce_type is not RefundRequested");
    assertThat(read(Topic.REFUND_REQUESTS, "RefundRequested", event()).problem())
        .isEqualTo("value is not a RefundRequested");
    assertThat(read(Topic.CHARGE_REQUESTS, "RefundRequested", refund).problem())
        .isEqualTo("ce_type is not ChargeRequested");
    byte[] nameless = codec.encode("RefundRequested", json.replace("refund_1", ""));
    assertThat(read(Topic.REFUND_REQUESTS, "RefundRequested", nameless).problem())
        .isEqualTo("refund_id is not one");
  }

  private Received read(String topic, String type, byte[] value) {
    ConsumerRecord<byte[], byte[]> source = new ConsumerRecord<>(topic, 0, 0, new byte[0], value);
    source.headers().add("ce_type", type.getBytes(UTF_8));
    return reader.read(source, 0);
  }

  private Received read(byte[] type, byte[] value) {
    ConsumerRecord<byte[], byte[]> source =
        new ConsumerRecord<>(Topic.CHARGE_REQUESTS, 0, 0, new byte[0], value);
    source.headers().add("ce_type", type);
    return reader.read(source, 0);
  }

  private static byte[] event() throws EncodingException {
    return event(new EventCodec(EventCatalogue.builtIn()));
  }

  private static byte[] event(EventCodec codec) throws EncodingException {
    return codec.encode(
        "ChargeRequested",
        """
        {"payment_id":"payment_1","merchant":"shop","merchant_order_id":"1",
        "provider":"simulator","amount_minor":1,"currency":"USD","trace_id":null}""");
  }
}
