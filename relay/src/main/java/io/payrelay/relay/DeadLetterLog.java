package io.payrelay.relay;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.schemas.Topic;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.InvalidOffsetException;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Notes in PostgreSQL what the dead-letter topic holds. The topic forgets after its retention; a
 * day of the outbox with an unresolved dead letter must stay. Each record is noted once: what was
 * found and how far it was read are one transaction. Safe for any thread.
 */
final class DeadLetterLog {

  static final TopicPartition PARTITION = new TopicPartition(Topic.DEAD_LETTER, 0);

  private static final Duration LIMIT = Duration.ofSeconds(30);
  private static final Duration POLL = Duration.ofMillis(200);
  private static final int RECORDS_IN_TRANSACTION_MAX = 200;

  private static final Logger log = LoggerFactory.getLogger(DeadLetterLog.class);

  private final KafkaConfig kafka;

  private record Ends(String topicId, long start, long end) {}

  DeadLetterLog(KafkaConfig kafka) {
    this.kafka = kafka;
  }

  /**
   * Notes all that was on the topic when it was called. What Kafka has lost is noted as a gap: it
   * holds the outbox until a person has looked, and nothing else is held up by it.
   *
   * @param connection in auto-commit
   * @return the topic's id
   * @throws PayrelayException RETRIABLE where the end was not reached without progress for a while
   */
  String catchUp(Connection connection) throws SQLException {
    Timestamp began = now(connection);
    Ends ends = ends();
    DeadLetterGeneration before = DeadLetterGeneration.before(connection, ends.topicId());
    if (before != null) {
      noteNewTopic(connection, ends, before);
    }
    DeadLetterGeneration read =
        DeadLetterGeneration.current(connection, ends.topicId(), ends.start());
    if (ends.end() < read.next()) {
      // Somebody else may have read records that came since.
      ends = ends();
      if (!ends.topicId().equals(read.topicId())) {
        throw new PayrelayException(Category.RETRIABLE, readAnew());
      }
    }
    if (ends.end() < read.next()) {
      noteLoss(connection, ends, read);
      read = DeadLetterGeneration.current(connection, ends.topicId(), ends.start());
    }
    long next = read.next();
    if (ends.start() > next) {
      noteGap(connection, ends, read);
      next = ends.start();
    }
    if (next < ends.end()) {
      read(connection, ends, read, next);
    }
    read.finish(connection, began);
    return ends.topicId();
  }

  private Ends ends() {
    try (Admin admin = Admin.create(kafka.clientProperties("payrelay-dead-letters-admin"))) {
      TopicDescription topic =
          Futures.get(
              Objects.requireNonNull(
                  admin
                      .describeTopics(List.of(PARTITION.topic()))
                      .topicNameValues()
                      .get(PARTITION.topic())));
      return new Ends(
          topic.topicId().toString(),
          offset(admin, OffsetSpec.earliest()),
          offset(admin, OffsetSpec.latest()));
    } catch (UnknownTopicOrPartitionException e) {
      throw new PayrelayException(
          Category.FATAL,
          "Topic %s does not exist: run `payrelay migrate`".formatted(PARTITION.topic()),
          e);
    }
  }

  private static long offset(Admin admin, OffsetSpec spec) {
    // Not the end that read_committed shows: see PositionStore.
    return Futures.get(
            admin
                .listOffsets(
                    Map.of(PARTITION, spec),
                    new ListOffsetsOptions(IsolationLevel.READ_UNCOMMITTED))
                .partitionResult(PARTITION))
        .offset();
  }

  private void read(Connection connection, Ends ends, DeadLetterGeneration generation, long from)
      throws SQLException {
    Map<String, Object> properties = kafka.consumerProperties("payrelay-dead-letters");
    properties.put("allow.auto.create.topics", false);
    // What is deleted while it is read must not be skipped in silence.
    properties.put("auto.offset.reset", "none");
    properties.put("max.poll.records", RECORDS_IN_TRANSACTION_MAX);
    long next = from;
    long deadlineNs = System.nanoTime() + LIMIT.toNanos();
    try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties)) {
      consumer.assign(List.of(PARTITION));
      consumer.seek(PARTITION, from);
      while (next < ends.end()) {
        List<ConsumerRecord<byte[], byte[]>> batch = new ArrayList<>();
        consumer.poll(POLL).forEach(batch::add);
        long position = consumer.position(PARTITION);
        if (position > next) {
          next = note(connection, generation, batch, next, position);
          consumer.seek(PARTITION, next);
          deadlineNs = System.nanoTime() + LIMIT.toNanos();
        } else if (System.nanoTime() > deadlineNs) {
          throw new PayrelayException(
              Category.RETRIABLE,
              "Topic %s could be read to offset %d only, not to its end %d: a transaction hangs on it, or a broker does not answer"
                  .formatted(PARTITION.topic(), next, ends.end()));
        }
      }
    } catch (InvalidOffsetException e) {
      throw new PayrelayException(Category.RETRIABLE, readAnew(), e);
    }
  }

  private static String readAnew() {
    return "Records of topic %s were deleted or lost while it was read: run it again"
        .formatted(PARTITION.topic());
  }

  /** One transaction; returns where to read on: somebody else may have been faster. */
  private static long note(
      Connection connection,
      DeadLetterGeneration generation,
      List<ConsumerRecord<byte[], byte[]>> batch,
      long from,
      long to)
      throws SQLException {
    connection.setAutoCommit(false);
    try {
      long known = generation.lock(connection);
      if (known < 0) {
        throw new PayrelayException(Category.RETRIABLE, readAnew());
      }
      if (known == from) {
        for (ConsumerRecord<byte[], byte[]> read : batch) {
          note(connection, generation, read);
        }
        generation.move(connection, to);
        known = to;
      }
      connection.commit();
      return known;
    } finally {
      // What was not committed is rolled back: auto-commit would commit it.
      connection.rollback();
      connection.setAutoCommit(true);
    }
  }

  private static void note(
      Connection connection, DeadLetterGeneration generation, ConsumerRecord<byte[], byte[]> read)
      throws SQLException {
    DeadLetterRecord.Resolution resolution = DeadLetterRecord.resolution(read);
    if (resolution == null) {
      DeadLetterRecord.Facts facts = DeadLetterRecord.facts(read);
      if (!isNoted(connection, generation.earlier(), read.offset(), facts)) {
        insert(connection, generation.name(), read.offset(), facts);
      }
      return;
    }
    try (PreparedStatement statement =
        connection.prepareStatement(
            """
            INSERT INTO payrelay.dead_letter_resolution
              (topic_id, topic_offset, kind, resolved_at, resolved_by, why)
            SELECT topic_id, topic_offset, ?, ?, ?, ? FROM payrelay.dead_letter
            WHERE topic_id = ? AND topic_offset = ? ON CONFLICT DO NOTHING
            """)) {
      statement.setString(1, resolution.kind());
      statement.setTimestamp(2, new Timestamp(read.timestamp()));
      statement.setString(3, resolution.by());
      statement.setString(4, resolution.why());
      statement.setString(5, resolution.topicId());
      statement.setLong(6, resolution.offset());
      statement.executeUpdate();
    }
  }

  /** Whether an offset held the same before Kafka lost what came after it. */
  private static boolean isNoted(
      Connection connection, List<String> names, long offset, DeadLetterRecord.Facts facts)
      throws SQLException {
    if (names.isEmpty()) {
      return false;
    }
    try (PreparedStatement statement =
        connection.prepareStatement(
            """
            SELECT EXISTS (SELECT FROM payrelay.dead_letter
              WHERE topic_id = ANY (?) AND topic_offset = ?
                AND (dead_lettered_at, source, event_id, event_type, aggregate_id, original_topic,
                  reason_code, reason) IS NOT DISTINCT FROM (?, ?, ?::uuid, ?, ?, ?, ?, ?))
            """)) {
      statement.setArray(1, connection.createArrayOf("text", names.toArray()));
      bind(statement, 2, offset, facts);
      try (ResultSet rows = statement.executeQuery()) {
        rows.next();
        return rows.getBoolean(1);
      }
    }
  }

  private static void noteGap(Connection connection, Ends ends, DeadLetterGeneration read)
      throws SQLException {
    String reason =
        "Kafka deleted offsets %d to %d before they were noted: any outbox row may have been among them"
            .formatted(read.next(), ends.start() - 1);
    noteLost(connection, read, reason, () -> read.move(connection, ends.start()));
  }

  /**
   * Offsets up to the known end are given anew, to records that are to be noted, too: what is left
   * of the topic is read again, as its next generation.
   */
  private static void noteLoss(Connection connection, Ends ends, DeadLetterGeneration read)
      throws SQLException {
    String reason =
        "Kafka lost offsets %d to %d after they were noted, as in an unclean election: others that nobody has noted may be lost with them"
            .formatted(ends.end(), read.next() - 1);
    noteLost(connection, read, reason, () -> read.end(connection, ends.start()));
  }

  private static void noteNewTopic(Connection connection, Ends ends, DeadLetterGeneration before)
      throws SQLException {
    String reason =
        "Topic %s was made anew: what came to the one before it from offset %d on was not noted"
            .formatted(PARTITION.topic(), before.next());
    noteLost(
        connection,
        before,
        reason,
        () -> {
          before.move(connection, before.next() + 1);
          DeadLetterGeneration.begin(connection, ends.topicId(), ends.start());
        });
  }

  private interface Step {
    void run() throws SQLException;
  }

  /** The gap holds every day of the outbox until a person has looked. */
  private static void noteLost(
      Connection connection, DeadLetterGeneration read, String reason, Step step)
      throws SQLException {
    connection.setAutoCommit(false);
    try {
      if (read.lock(connection) == read.next()) {
        insert(
            connection,
            read.name(),
            read.next(),
            DeadLetterRecord.Facts.gap(now(connection).toInstant(), reason));
        step.run();
        log.error("dead_letters_lost {}", reason);
      }
      connection.commit();
    } finally {
      connection.rollback();
      connection.setAutoCommit(true);
    }
  }

  private static void insert(
      Connection connection, String name, long offset, DeadLetterRecord.Facts facts)
      throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(
            """
            INSERT INTO payrelay.dead_letter (topic_id, topic_offset, dead_lettered_at, source, event_id,
              event_type, aggregate_id, original_topic, reason_code, reason)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)) {
      statement.setString(1, name);
      bind(statement, 2, offset, facts);
      statement.executeUpdate();
    }
  }

  private static void bind(
      PreparedStatement statement, int first, long offset, DeadLetterRecord.Facts facts)
      throws SQLException {
    statement.setLong(first, offset);
    statement.setTimestamp(first + 1, Timestamp.from(facts.at()));
    statement.setString(first + 2, facts.source());
    statement.setObject(first + 3, facts.eventId(), Types.OTHER);
    statement.setString(first + 4, facts.eventType());
    statement.setString(first + 5, facts.aggregateId());
    statement.setString(first + 6, facts.originalTopic());
    statement.setString(first + 7, facts.reasonCode());
    statement.setString(first + 8, facts.reason());
  }

  /** By the database's clock, as the times that it is compared with. */
  private static Timestamp now(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SELECT clock_timestamp()")) {
      rows.next();
      return rows.getTimestamp(1);
    }
  }

  /** The record at that offset, or null where the topic does not hold it any more. */
  @Nullable ConsumerRecord<byte[], byte[]> record(long offset) {
    Ends ends = ends();
    if (offset < ends.start() || offset >= ends.end()) {
      return null;
    }
    Map<String, Object> properties = kafka.consumerProperties("payrelay-dead-letters");
    properties.put("max.poll.records", 1);
    long deadlineNs = System.nanoTime() + LIMIT.toNanos();
    try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties)) {
      consumer.assign(List.of(PARTITION));
      consumer.seek(PARTITION, offset);
      while (consumer.position(PARTITION) <= offset && System.nanoTime() < deadlineNs) {
        for (ConsumerRecord<byte[], byte[]> read : consumer.poll(POLL)) {
          return read.offset() == offset ? read : null;
        }
      }
      return null;
    }
  }
}
