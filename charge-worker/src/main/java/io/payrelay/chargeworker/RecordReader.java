package io.payrelay.chargeworker;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.payrelay.platform.kafka.HeaderValues;
import io.payrelay.schemas.EncodingException;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.EventCodec;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;

/** Charge requests out of records. Belongs to one thread. */
final class RecordReader {

  private static final String EVENT_TYPE = "ChargeRequested";
  private static final int PAYMENT_ID_LENGTH_MAX = 32;

  private final EventCodec codec;

  RecordReader(EventCatalogue catalogue) {
    codec = new EventCodec(catalogue);
  }

  /** Reads a record; one that is no charge request comes back with the problem. */
  Received read(ConsumerRecord<byte[], byte[]> source, long nowMs) {
    try {
      return readable(source, nowMs);
    } catch (RuntimeException e) {
      // Whatever it is, it is this record's: the worker would meet it again after each restart.
      return unreadable(source, "cannot be read: " + e.getClass().getSimpleName(), nowMs);
    }
  }

  private Received readable(ConsumerRecord<byte[], byte[]> source, long nowMs) {
    Header type = source.headers().lastHeader("ce_type");
    // Kafka allows a header without a value.
    String name = type == null || type.value() == null ? "" : new String(type.value(), UTF_8);
    if (!name.equals(EVENT_TYPE)) {
      return unreadable(source, "ce_type is not " + EVENT_TYPE, nowMs);
    }
    if (source.value() == null) {
      return unreadable(source, "record without value", nowMs);
    }
    GenericRecord event;
    try {
      event =
          codec.decode(source.value(), HeaderValues.last(source.headers(), EventCodec.DATA_SCHEMA));
    } catch (EncodingException e) {
      return unreadable(source, String.valueOf(e.getMessage()), nowMs);
    }
    if (!event.getSchema().getName().equals(EVENT_TYPE)) {
      return unreadable(source, "value is not a " + EVENT_TYPE, nowMs);
    }
    String paymentId = event.get("payment_id").toString();
    if (paymentId.isEmpty() || paymentId.length() > PAYMENT_ID_LENGTH_MAX) {
      return unreadable(source, "payment_id is not one", nowMs);
    }
    Trigger.Terms terms =
        new Trigger.Terms(
            event.get("provider").toString(),
            (Long) event.get("amount_minor"),
            event.get("currency").toString());
    return new Received(source, new Trigger(paymentId, terms), null, nowMs, 0);
  }

  private static Received unreadable(
      ConsumerRecord<byte[], byte[]> source, String problem, long nowMs) {
    return new Received(source, null, problem, nowMs, 0);
  }
}
