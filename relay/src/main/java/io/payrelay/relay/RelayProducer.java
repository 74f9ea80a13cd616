package io.payrelay.relay;

import io.payrelay.platform.kafka.KafkaConfig;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** The transactional producer of a slot. Stateless. */
final class RelayProducer {

  private static final int REQUEST_TIMEOUT_MS = 10_000;
  private static final int LINGER_MS = 50;
  private static final int BATCH_BYTES = 131_072;

  private RelayProducer() {}

  /** Makes a producer; {@code initTransactions} then fences whoever worked on the slot before. */
  static KafkaProducer<byte[], byte[]> make(
      KafkaConfig kafka, RelayConfig config, int recordBytesMax) {
    return make(kafka, config, config.transactionalId(), recordBytesMax);
  }

  /** One of the same kind under another transactional id, which leaves the slot's relay alone. */
  static KafkaProducer<byte[], byte[]> make(
      KafkaConfig kafka, RelayConfig config, String transactionalId, int recordBytesMax) {
    int timeoutMs = Math.toIntExact(config.transactionTimeout().toMillis());
    Map<String, Object> properties = kafka.clientProperties(transactionalId);
    properties.put(ProducerConfig.TRANSACTIONAL_ID_CONFIG, transactionalId);
    properties.put(ProducerConfig.TRANSACTION_TIMEOUT_CONFIG, timeoutMs);
    properties.put(ProducerConfig.ACKS_CONFIG, "all");
    properties.put(ProducerConfig.COMPRESSION_TYPE_CONFIG, "lz4");
    // Commit flushes at once: lingering costs no latency, and one batch a partition and
    // transaction is the least work for all.
    properties.put(ProducerConfig.LINGER_MS_CONFIG, LINGER_MS);
    properties.put(ProducerConfig.BATCH_SIZE_CONFIG, BATCH_BYTES);
    properties.put(ProducerConfig.MAX_REQUEST_SIZE_CONFIG, recordBytesMax);
    // A transaction that Kafka has ended by itself cannot be committed: no use in trying longer.
    properties.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, timeoutMs);
    properties.put(
        ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, Math.min(REQUEST_TIMEOUT_MS, timeoutMs / 2));
    properties.put(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, timeoutMs);
    return new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer());
  }
}
