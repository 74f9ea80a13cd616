package io.payrelay.relay;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.payrelay.schemas.EncodingException;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.EventCodec;
import io.payrelay.schemas.Topic;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Compares the outbox table with what a read_committed consumer sees from its making on. Events of
 * one aggregate carry growing numbers in amount_minor; rows of another type are only counted.
 */
final class OutboxOracle implements AutoCloseable {

  private static final Duration QUIET = Duration.ofMillis(700);

  private final String jdbcUrl;
  private final String user;
  private final KafkaConsumer<byte[], byte[]> consumer;
  private final EventCodec codec = new EventCodec(EventCatalogue.builtIn());
  private final Map<String, Integer> seen = new HashMap<>();
  private final Map<String, Long> newest = new HashMap<>();
  private final Set<String> outOfOrder = new HashSet<>();
  private final List<ConsumerRecord<byte[], byte[]>> deadLetters = new ArrayList<>();
  private final List<ConsumerRecord<byte[], byte[]>> republished = new ArrayList<>();
  private long recovered;

  /** What was found; a relay that keeps its promise has zeros everywhere but in rows. */
  record Verdict(long rows, long lost, long duplicated, long invented, long outOfOrder) {

    boolean clean() {
      return lost == 0 && duplicated == 0 && invented == 0 && outOfOrder == 0;
    }
  }

  OutboxOracle(String jdbcUrl, String user, String bootstrapServers) {
    this.jdbcUrl = jdbcUrl;
    this.user = user;
    this.consumer =
        new KafkaConsumer<>(
            Map.of(
                "bootstrap.servers",
                bootstrapServers,
                "isolation.level",
                "read_committed",
                "allow.auto.create.topics",
                false,
                "enable.auto.commit",
                false),
            new ByteArrayDeserializer(),
            new ByteArrayDeserializer());
    List<TopicPartition> partitions = new ArrayList<>();
    for (Topic topic : Topic.all()) {
      for (int i = 0; i < topic.partitions(); i++) {
        partitions.add(new TopicPartition(topic.name(), i));
      }
    }
    consumer.assign(partitions);
    consumer.seekToEnd(partitions);
    partitions.forEach(consumer::position);
  }

  /** Reads until each row of the table has come and nothing more comes, or the limit is over. */
  Verdict await(Duration limit) throws SQLException {
    long deadlineNs = System.nanoTime() + limit.toNanos();
    long quietSinceNs = System.nanoTime();
    Set<String> table = tableIds();
    while (System.nanoTime() < deadlineNs) {
      boolean any = false;
      for (ConsumerRecord<byte[], byte[]> read : consumer.poll(Duration.ofMillis(100))) {
        take(read);
        any = true;
      }
      if (any) {
        quietSinceNs = System.nanoTime();
      } else if (System.nanoTime() - quietSinceNs > QUIET.toNanos()
          && seen.keySet().containsAll(table)) {
        break;
      }
    }
    return verdict(table);
  }

  /** What came to the dead-letter topic. */
  List<ConsumerRecord<byte[], byte[]>> deadLetters() {
    return deadLetters;
  }

  /** What was sent again on purpose; nothing that the relay has to answer for. */
  List<ConsumerRecord<byte[], byte[]>> republished() {
    return republished;
  }

  /** How many records say that they were recovered. */
  long recovered() {
    return recovered;
  }

  private Verdict verdict(Set<String> table) {
    long lost = table.stream().filter(id -> !seen.containsKey(id)).count();
    long invented = seen.keySet().stream().filter(id -> !table.contains(id)).count();
    long duplicated = seen.values().stream().mapToLong(count -> count - 1L).sum();
    return new Verdict(table.size(), lost, duplicated, invented, outOfOrder.size());
  }

  private void take(ConsumerRecord<byte[], byte[]> read) {
    if (read.headers().lastHeader(PublishedEvents.REPUBLISHED_HEADER) != null) {
      republished.add(read);
      return;
    }
    if (read.headers().lastHeader(RelayRecovery.RECOVERED_HEADER) != null) {
      recovered++;
    }
    seen.merge(new String(read.headers().lastHeader("ce_id").value(), UTF_8), 1, Integer::sum);
    if (read.topic().equals(Topic.DEAD_LETTER)) {
      deadLetters.add(read);
      return;
    }
    String aggregate = read.topic() + "/" + new String(read.key(), UTF_8);
    try {
      long number = (Long) codec.decode(read.value()).get("amount_minor");
      Long before = newest.put(aggregate, number);
      if (before != null && before >= number) {
        outOfOrder.add(aggregate);
      }
    } catch (EncodingException e) {
      throw new IllegalStateException(e);
    }
  }

  private Set<String> tableIds() throws SQLException {
    Set<String> ids = new HashSet<>();
    try (Connection connection = DriverManager.getConnection(jdbcUrl, user, "any");
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SELECT event_id FROM payrelay.outbox")) {
      while (rows.next()) {
        ids.add(rows.getObject(1, UUID.class).toString());
      }
    }
    return ids;
  }

  @Override
  public void close() {
    consumer.close();
  }
}
