package io.payrelay.chargeworker;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.schemas.Topic;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.function.Supplier;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.jspecify.annotations.Nullable;

/**
 * Sets records aside with the reason, the original bytes and the original headers. The producer is
 * made when it is first needed. Belongs to one thread.
 */
final class DeadLetters implements AutoCloseable {

  /** Below Kafka's own default limit of a request, with room for headers. */
  private static final int VALUE_BYTES_MAX = 900_000;

  private static final List<String> OWN_HEADERS =
      List.of("source", "reason_code", "reason", "original_topic", "position", "payload_truncated");

  private final Supplier<Producer<byte[], byte[]>> producers;
  private final List<Future<?>> sent = new ArrayList<>();
  private @Nullable Producer<byte[], byte[]> producer;

  DeadLetters(Supplier<Producer<byte[], byte[]>> producers) {
    this.producers = producers;
  }

  void add(ConsumerRecord<byte[], byte[]> source, String reason) {
    if (producer == null) {
      producer = producers.get();
    }
    RecordHeaders headers = new RecordHeaders(source.headers().toArray());
    byte[] value = source.value();
    boolean truncated = value != null && value.length > VALUE_BYTES_MAX;
    // What a redriven event carries of its earlier life must not be read as this one's.
    for (String name : OWN_HEADERS) {
      headers.remove(name);
    }
    headers.add("source", "charge-worker".getBytes(UTF_8));
    headers.add("reason_code", "refused".getBytes(UTF_8));
    headers.add("reason", reason.getBytes(UTF_8));
    headers.add("original_topic", source.topic().getBytes(UTF_8));
    headers.add(
        "position",
        ("offset " + source.offset() + " of partition " + source.partition()).getBytes(UTF_8));
    headers.add("payload_truncated", Boolean.toString(truncated).getBytes(UTF_8));
    sent.add(
        producer.send(
            new ProducerRecord<>(
                Topic.DEAD_LETTER,
                null,
                source.key(),
                truncated ? Arrays.copyOf(value, VALUE_BYTES_MAX) : value,
                headers)));
  }

  /**
   * Returns when Kafka has all of them.
   *
   * @throws PayrelayException RETRIABLE where it has not: add them again
   */
  void flush() {
    if (producer == null || sent.isEmpty()) {
      return;
    }
    producer.flush();
    List<Future<?>> flushed = List.copyOf(sent);
    sent.clear();
    try {
      for (Future<?> one : flushed) {
        one.get();
      }
    } catch (ExecutionException e) {
      throw new PayrelayException(
          Category.RETRIABLE, "A dead letter cannot be written to Kafka", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new PayrelayException(
          Category.RETRIABLE, "Interrupted before a dead letter was safe", e);
    }
  }

  @Override
  public void close() {
    if (producer != null) {
      producer.close();
    }
  }
}
