package io.payrelay.localstack;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * The judge of a relay: compares the outbox table with what a read_committed consumer sees of its
 * topics from the making of this object on. Which number orders the events of an aggregate is the
 * load's business. Belongs to one thread.
 */
public final class OutboxAudit implements AutoCloseable {

  private static final int FETCH_ROWS = 10_000;
  private static final int OFFENDERS_MAX = 20;

  private final String jdbcUrl;
  private final String user;
  private final KafkaConsumer<byte[], byte[]> consumer;
  private final Admin admin;
  private final List<TopicPartition> partitions;
  private final Function<ConsumerRecord<byte[], byte[]>, OptionalLong> number;
  private final Predicate<ConsumerRecord<byte[], byte[]>> sentAgain;
  private final Map<UUID, Integer> seen = new HashMap<>();
  private final Map<String, Long> newest = new HashMap<>();
  private final List<String> late = new ArrayList<>();
  private long outOfOrder;

  /**
   * What was found; a relay that keeps its promise has zeros everywhere but in rows.
   *
   * @param duplicated records beyond the first of an event
   * @param invented events that the table does not have: rolled back, say
   * @param outOfOrder records after one of the same topic and key with a higher or equal number
   * @param offenders the first of them, each with what is wrong
   */
  public record Verdict(
      long rows,
      long lost,
      long duplicated,
      long invented,
      long outOfOrder,
      List<String> offenders) {

    /** Whether each row came once and in order. */
    public boolean clean() {
      return lost == 0 && duplicated == 0 && invented == 0 && outOfOrder == 0;
    }
  }

  /**
   * Begins to read at the topics' ends; they must exist. The end is the high watermark: what was
   * written before and only becomes visible later, behind somebody's open transaction, is not
   * judged.
   *
   * @param number of an event among those of its topic and key; empty: only counted
   */
  public OutboxAudit(
      String jdbcUrl,
      String user,
      String bootstrapServers,
      Collection<String> topics,
      Function<ConsumerRecord<byte[], byte[]>, OptionalLong> number) {
    this(jdbcUrl, user, bootstrapServers, topics, number, read -> false);
  }

  /**
   * The same.
   *
   * @param sentAgain tells records that somebody sent again on purpose; they do not count
   */
  public OutboxAudit(
      String jdbcUrl,
      String user,
      String bootstrapServers,
      Collection<String> topics,
      Function<ConsumerRecord<byte[], byte[]>, OptionalLong> number,
      Predicate<ConsumerRecord<byte[], byte[]>> sentAgain) {
    this.jdbcUrl = jdbcUrl;
    this.user = user;
    this.number = number;
    this.sentAgain = sentAgain;
    this.admin = Admin.create(Map.of("bootstrap.servers", bootstrapServers));
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
    this.partitions =
        topics.stream()
            .flatMap(topic -> consumer.partitionsFor(topic).stream())
            .map(info -> new TopicPartition(info.topic(), info.partition()))
            .toList();
    consumer.assign(partitions);
    highWatermarks().forEach((partition, end) -> consumer.seek(partition, end.offset()));
  }

  /** Reads what is there, waits that long for something; returns how many records came. */
  public int poll(Duration limit, Consumer<ConsumerRecord<byte[], byte[]>> listener) {
    int count = 0;
    for (ConsumerRecord<byte[], byte[]> read : consumer.poll(limit)) {
      take(read);
      listener.accept(read);
      count++;
    }
    return count;
  }

  /** Different events read so far. */
  public long events() {
    return seen.size();
  }

  /** Whether all of the given rows have come. */
  public boolean hasAll(Set<UUID> rows) {
    return seen.keySet().containsAll(rows);
  }

  /**
   * Whether everything was read, up to the high watermark: an open transaction, whose records may
   * still become visible, stands before it.
   */
  public boolean atEnd() {
    return highWatermarks().entrySet().stream()
        .allMatch(end -> consumer.position(end.getKey()) >= end.getValue().offset());
  }

  private Map<TopicPartition, ListOffsetsResultInfo> highWatermarks() {
    Map<TopicPartition, OffsetSpec> latest =
        partitions.stream()
            .collect(Collectors.toMap(partition -> partition, partition -> OffsetSpec.latest()));
    try {
      return admin
          .listOffsets(latest, new ListOffsetsOptions(IsolationLevel.READ_UNCOMMITTED))
          .all()
          .get();
    } catch (ExecutionException e) {
      throw new LocalStackException("The topics' ends cannot be read: " + e.getMessage(), e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new LocalStackException("Interrupted while the topics' ends were read", e);
    }
  }

  /** The event ids of the table. */
  public Set<UUID> rows() {
    Set<UUID> rows = new HashSet<>();
    try (Connection connection = DriverManager.getConnection(jdbcUrl, user, "any");
        Statement statement = connection.createStatement()) {
      // Only inside a transaction does the driver fetch in portions.
      connection.setAutoCommit(false);
      statement.setFetchSize(FETCH_ROWS);
      ResultSet ids = statement.executeQuery("SELECT event_id FROM payrelay.outbox");
      while (ids.next()) {
        rows.add(ids.getObject(1, UUID.class));
      }
      return rows;
    } catch (SQLException e) {
      throw new LocalStackException("The outbox cannot be read: " + e.getMessage(), e);
    }
  }

  /** Compares with the rows of the table. */
  public Verdict verdict(Set<UUID> rows) {
    List<String> offenders = new ArrayList<>();
    long lost = 0;
    long invented = 0;
    long duplicated = 0;
    for (UUID row : rows) {
      if (!seen.containsKey(row)) {
        lost++;
        offend(offenders, "lost " + row);
      }
    }
    for (Map.Entry<UUID, Integer> event : seen.entrySet()) {
      if (!rows.contains(event.getKey())) {
        invented++;
        offend(offenders, "invented " + event.getKey());
      }
      if (event.getValue() > 1) {
        duplicated += event.getValue() - 1L;
        offend(offenders, "came " + event.getValue() + " times " + event.getKey());
      }
    }
    late.forEach(text -> offend(offenders, text));
    return new Verdict(rows.size(), lost, duplicated, invented, outOfOrder, List.copyOf(offenders));
  }

  @Override
  public void close() {
    consumer.close();
    admin.close();
  }

  private void take(ConsumerRecord<byte[], byte[]> read) {
    if (sentAgain.test(read)) {
      return;
    }
    UUID event = eventId(read);
    seen.merge(event, 1, Integer::sum);
    OptionalLong ordered = number.apply(read);
    if (ordered.isEmpty()) {
      return;
    }
    String aggregate = read.topic() + "/" + new String(read.key(), UTF_8);
    Long before = newest.get(aggregate);
    if (before == null || before < ordered.getAsLong()) {
      newest.put(aggregate, ordered.getAsLong());
      return;
    }
    outOfOrder++;
    offend(
        late,
        "out of order %s: %s has number %d after %d"
            .formatted(event, aggregate, ordered.getAsLong(), before));
  }

  /** The event id of a record. */
  public static UUID eventId(ConsumerRecord<byte[], byte[]> read) {
    return UUID.fromString(new String(read.headers().lastHeader("ce_id").value(), UTF_8));
  }

  private static void offend(List<String> offenders, String text) {
    if (offenders.size() < OFFENDERS_MAX) {
      offenders.add(text);
    }
  }
}
