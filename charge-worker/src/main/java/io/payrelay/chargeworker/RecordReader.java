package io.payrelay.chargeworker;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.payrelay.platform.kafka.HeaderValues;
import io.payrelay.schemas.EncodingException;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.EventCodec;
import io.payrelay.schemas.Topic;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.jspecify.annotations.Nullable;

/** Charge and refund requests out of records. Belongs to one thread. */
final class RecordReader {

  private static final String CHARGE = "ChargeRequested";
  private static final String REFUND = "RefundRequested";
  private static final int ID_LENGTH_MAX = 32;

  private final EventCodec codec;

  RecordReader(EventCatalogue catalogue) {
    codec = new EventCodec(catalogue);
  }

  /** Reads a record; one that is no request comes back with the problem. */
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
    String wanted = source.topic().equals(Topic.REFUND_REQUESTS) ? REFUND : CHARGE;
    if (!name.equals(wanted)) {
      return unreadable(source, "ce_type is not " + wanted, nowMs);
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
    if (!event.getSchema().getName().equals(wanted)) {
      return unreadable(source, "value is not a " + wanted, nowMs);
    }
    String paymentId = event.get("payment_id").toString();
    if (!isId(paymentId)) {
      return unreadable(source, "payment_id is not one", nowMs);
    }
    if (wanted.equals(REFUND)) {
      return refund(source, event, paymentId, nowMs);
    }
    Trigger.Terms terms =
        new Trigger.Terms(
            event.get("provider").toString(),
            (Long) event.get("amount_minor"),
            event.get("currency").toString());
    return new Received(source, new Trigger(paymentId, terms), null, nowMs, 0);
  }

  private static Received refund(
      ConsumerRecord<byte[], byte[]> source, GenericRecord event, String paymentId, long nowMs) {
    String refundId = event.get("refund_id").toString();
    if (!isId(refundId)) {
      return unreadable(source, "refund_id is not one", nowMs);
    }
    RefundTrigger.Terms terms =
        new RefundTrigger.Terms(
            paymentId,
            text(event, "provider"),
            text(event, "provider_transaction_id"),
            (Long) event.get("amount_minor"),
            event.get("currency").toString());
    Trigger trigger = new Trigger(paymentId, null, new RefundTrigger(refundId, terms));
    return new Received(source, trigger, null, nowMs, 0);
  }

  private static @Nullable String text(GenericRecord event, String field) {
    Object value = event.get(field);
    return value == null ? null : value.toString();
  }

  private static boolean isId(String text) {
    return !text.isEmpty() && text.length() <= ID_LENGTH_MAX;
  }

  private static Received unreadable(
      ConsumerRecord<byte[], byte[]> source, String problem, long nowMs) {
    return new Received(source, null, problem, nowMs, 0);
  }
}
