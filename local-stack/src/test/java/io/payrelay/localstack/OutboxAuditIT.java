package io.payrelay.localstack;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.UUID;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(90)
class OutboxAuditIT {

  private static final String TOPIC = "audited";
  private static final UUID EARLIER = new UUID(0, 1);
  private static final UUID ROW = new UUID(0, 2);

  @Test
  void doesNotJudgeWhatSomebodysOpenTransactionHidAtItsStart() throws Exception {
    String bootstrap = TestInfra.shared().bootstrapServers();
    TestDatabase database = TestInfra.shared().newDatabase();
    Sql.run(database.jdbcUrl(), "CREATE SCHEMA payrelay");
    Sql.run(database.jdbcUrl(), "CREATE TABLE payrelay.outbox (event_id uuid)");
    Sql.run(database.jdbcUrl(), "INSERT INTO payrelay.outbox VALUES ('%s')".formatted(ROW));
    Records.createTopic(bootstrap, TOPIC);

    try (KafkaProducer<byte[], byte[]> open = producer(bootstrap, "open");
        KafkaProducer<byte[], byte[]> other = producer(bootstrap, "other")) {
      open.beginTransaction();
      open.send(event(new UUID(0, 3))).get();
      other.beginTransaction();
      other.send(event(EARLIER)).get();
      other.commitTransaction();

      try (OutboxAudit audit =
          new OutboxAudit(
              database.jdbcUrl(),
              database.user(),
              bootstrap,
              List.of(TOPIC),
              read -> OptionalLong.empty())) {
        open.abortTransaction();
        other.beginTransaction();
        other.send(event(ROW)).get();
        other.commitTransaction();
        await()
            .atMost(Duration.ofSeconds(30))
            .until(
                () -> {
                  int unused = audit.poll(Duration.ofMillis(100), read -> {});
                  return audit.hasAll(audit.rows()) && audit.atEnd();
                });

        OutboxAudit.Verdict verdict = audit.verdict(audit.rows());

        assertThat(verdict.clean()).as("%s", verdict).isTrue();
        assertThat(audit.events()).isOne();
      }
    }
  }

  private static KafkaProducer<byte[], byte[]> producer(String bootstrap, String id) {
    KafkaProducer<byte[], byte[]> producer =
        new KafkaProducer<>(
            Map.of("bootstrap.servers", bootstrap, "transactional.id", id),
            new ByteArraySerializer(),
            new ByteArraySerializer());
    producer.initTransactions();
    return producer;
  }

  private static ProducerRecord<byte[], byte[]> event(UUID id) {
    byte[] text = id.toString().getBytes(StandardCharsets.UTF_8);
    ProducerRecord<byte[], byte[]> event = new ProducerRecord<>(TOPIC, text, text);
    event.headers().add(new RecordHeader("ce_id", text));
    return event;
  }
}
