package io.payrelay.app;

import io.payrelay.platform.kafka.HeaderValues;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.schemas.EncodingException;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.EventCodec;
import io.payrelay.schemas.Topic;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;

/** Reads the payment-status topic from its end on. Belongs to one thread. */
final class StatusFollower implements AutoCloseable {

  private static final Duration POLL = Duration.ofMillis(100);

  private final KafkaConsumer<byte[], byte[]> consumer;
  private final EventCodec codec = new EventCodec(EventCatalogue.builtIn());

  private StatusFollower(KafkaConsumer<byte[], byte[]> consumer) {
    this.consumer = consumer;
  }

  /** Fixes the begin now, so that nothing between this and the first poll is missed. */
  static StatusFollower fromNow(KafkaConfig kafka) {
    KafkaConsumer<byte[], byte[]> consumer =
        new KafkaConsumer<>(kafka.consumerProperties("payrelay-pay"));
    List<TopicPartition> partitions =
        KafkaQuestions.partitions(consumer, kafka, Topic.PAYMENT_STATUS).stream()
            .map(info -> new TopicPartition(info.topic(), info.partition()))
            .toList();
    consumer.assign(partitions);
    consumer.seekToEnd(partitions);
    partitions.forEach(consumer::position);
    return new StatusFollower(consumer);
  }

  /** Prints each change of the payment until a terminal one, which it returns. */
  Optional<GenericRecord> follow(String paymentId, Duration limit, PrintWriter out) {
    long deadlineNs = System.nanoTime() + limit.toNanos();
    byte[] key = paymentId.getBytes(StandardCharsets.UTF_8);
    while (System.nanoTime() - deadlineNs < 0) {
      for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
        if (!Arrays.equals(key, record.key())) {
          continue;
        }
        Optional<GenericRecord> end = tell(record, out);
        if (end.isPresent()) {
          return end;
        }
      }
    }
    return Optional.empty();
  }

  @Override
  public void close() {
    consumer.close();
  }

  private Optional<GenericRecord> tell(ConsumerRecord<byte[], byte[]> record, PrintWriter out) {
    try {
      GenericRecord event =
          codec.decode(record.value(), HeaderValues.last(record.headers(), EventCodec.DATA_SCHEMA));
      String status = event.get("status").toString();
      Object code = event.get("failure_code");
      Object transaction = event.get("provider_transaction_id");
      out.println(
          event.get("payment_id")
              + " "
              + status
              + (code == null ? "" : " " + code)
              + (transaction == null ? "" : " " + transaction));
      out.flush();
      return status.equals("SUCCEEDED") || status.equals("FAILED")
          ? Optional.of(event)
          : Optional.empty();
    } catch (EncodingException e) {
      out.println("a record on " + Topic.PAYMENT_STATUS + " cannot be read: " + e.getMessage());
      return Optional.empty();
    }
  }
}
