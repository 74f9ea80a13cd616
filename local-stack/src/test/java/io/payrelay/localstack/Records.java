package io.payrelay.localstack;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Kafka round trips of strings. */
final class Records {
  private Records() {}

  static void createTopic(String bootstrap, String topic)
      throws ExecutionException, InterruptedException {
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
      admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1))).all().get();
    }
  }

  static void sendInTransaction(String bootstrap, String topic, String... values)
      throws ExecutionException, InterruptedException {
    Map<String, Object> config =
        Map.of("bootstrap.servers", bootstrap, "transactional.id", "local-stack-test");
    try (KafkaProducer<String, String> producer =
        new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
      producer.initTransactions();
      producer.beginTransaction();
      for (String value : values) {
        producer.send(new ProducerRecord<>(topic, value)).get();
      }
      producer.commitTransaction();
    }
  }

  static List<String> readCommitted(String bootstrap, String topic, int count) {
    Map<String, Object> config =
        Map.of(
            "bootstrap.servers",
            bootstrap,
            "group.id",
            "local-stack-test",
            "auto.offset.reset",
            "earliest",
            "isolation.level",
            "read_committed");
    List<String> values = new ArrayList<>();
    try (KafkaConsumer<String, String> consumer =
        new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
      consumer.subscribe(List.of(topic));
      while (values.size() < count) {
        consumer
            .poll(Duration.ofMillis(200))
            .forEach(consumerRecord -> values.add(consumerRecord.value()));
      }
    }
    return values;
  }
}
