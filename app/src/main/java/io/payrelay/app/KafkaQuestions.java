package io.payrelay.app;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.kafka.KafkaConfig;
import java.time.Duration;
import java.util.List;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.errors.TimeoutException;

/** Questions of a command to Kafka that end with a sentence where nobody answers. Stateless. */
final class KafkaQuestions {

  private static final Duration LIMIT = Duration.ofSeconds(10);

  private KafkaQuestions() {}

  /** The partitions of a topic; empty where it does not exist. */
  static List<PartitionInfo> partitions(
      Consumer<byte[], byte[]> consumer, KafkaConfig kafka, String topic) {
    try {
      return consumer.partitionsFor(topic, LIMIT);
    } catch (TimeoutException e) {
      throw new PayrelayException(
          Category.RETRIABLE,
          "Kafka does not answer at "
              + kafka.bootstrapServers()
              + ": check PAYRELAY_KAFKA_BOOTSTRAP_SERVERS and that the broker runs",
          e);
    }
  }
}
