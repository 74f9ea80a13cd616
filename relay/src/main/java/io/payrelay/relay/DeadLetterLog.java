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
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.jspecify.annotations.Nullable;

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

  private static final String IS_GAP =
      """
      SELECT count(*) FROM payrelay.dead_letter
      WHERE topic_id = ? AND topic_offset = ? AND source = 'gap'
      """;

  private final KafkaConfig kafka;

  private record Ends(String topicId, long start, long end) {}

  DeadLetterLog(KafkaConfig kafka) {
    this.kafka = kafka;
  }

  /**
   * Notes all that was on the topic when it was called.
   *
   * @param connection in auto-commit
   * @return the topic's id
   * @throws PayrelayException RETRIABLE where the end was not reached without progress for a while
   */
  String catchUp(Connection connection) throws SQLException {
    Timestamp began = now(connection);
    Ends ends = ends();
    long next = progress(connection, ends);
    if (ends.end() < next) {
      // Somebody else has read records that came since.
      ends = ends();
    }
    if (ends.end() < next) {
      noteLoss(connection, ends, next);
      throw new PayrelayException(
          Category.FATAL,
          "Topic %s ends at offset %d and was read to %d before: Kafka has lost records; nothing is dropped from the outbox until somebody has looked"
              .formatted(PARTITION.topic(), ends.end(), next));
    }
    if (ends.start() > next) {
      noteGap(connection, ends, next);
      next = ends.start();
    }
    if (next < ends.end()) {
      read(connection, ends, next);
    }
    finish(connection, ends, began);
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

  private void read(Connection connection, Ends ends, long from) throws SQLException {
    Map<String, Object> properties = kafka.consumerProperties("payrelay-dead-letters");
    properties.put("allow.auto.create.topics", false);
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
          next = note(connection, ends.topicId(), batch, next, position);
          consumer.seek(PARTITION, next);
          deadlineNs = System.nanoTime() + LIMIT.toNanos();
        } else if (System.nanoTime() > deadlineNs) {
          throw new PayrelayException(
              Category.RETRIABLE,
              "Topic %s could be read to offset %d only, not to its end %d: a transaction hangs on it, or a broker does not answer"
                  .formatted(PARTITION.topic(), next, ends.end()));
        }
      }
    }
  }

  /** One transaction; returns where to read on: somebody else may have been faster. */
  private static long note(
      Connection connection,
      String topicId,
      List<ConsumerRecord<byte[], byte[]>> batch,
      long from,
      long to)
      throws SQLException {
    connection.setAutoCommit(false);
    try {
      long known = lockProgress(connection, topicId);
      if (known == from) {
        for (ConsumerRecord<byte[], byte[]> read : batch) {
          note(connection, topicId, read);
        }
        moveProgress(connection, topicId, to);
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
      Connection connection, String topicId, ConsumerRecord<byte[], byte[]> read)
      throws SQLException {
    DeadLetterRecord.Resolution resolution = DeadLetterRecord.resolution(read);
    if (resolution == null) {
      noteLetter(connection, topicId, read);
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

  private static void noteLetter(
      Connection connection, String topicId, ConsumerRecord<byte[], byte[]> read)
      throws SQLException {
    String type = DeadLetterRecord.text(read.headers(), "original_type");
    insert(
        connection,
        topicId,
        read.offset(),
        new Timestamp(read.timestamp()),
        DeadLetterRecord.source(read.headers()),
        DeadLetterRecord.eventId(read.headers()),
        type == null ? DeadLetterRecord.text(read.headers(), "ce_type") : type,
        DeadLetterRecord.text(read.key()),
        DeadLetterRecord.text(read.headers(), "original_topic"),
        DeadLetterRecord.orElse(DeadLetterRecord.text(read.headers(), "reason_code"), "unknown"),
        DeadLetterRecord.orElse(DeadLetterRecord.text(read.headers(), "reason"), "unknown"));
  }

  private static void noteGap(Connection connection, Ends ends, long from) throws SQLException {
    connection.setAutoCommit(false);
    try {
      if (lockProgress(connection, ends.topicId()) == from) {
        insert(
            connection,
            ends.topicId(),
            from,
            now(connection),
            "gap",
            null,
            null,
            null,
            null,
            "gap",
            "Kafka deleted offsets %d to %d before they were noted: any outbox row may have been among them"
                .formatted(from, ends.start() - 1));
        moveProgress(connection, ends.topicId(), ends.start());
      }
      connection.commit();
    } finally {
      connection.rollback();
      connection.setAutoCommit(true);
    }
  }

  /**
   * Once: offsets up to the known end are given anew, to records that nobody would read. The gap
   * holds every day of the outbox until a person has looked, also when the topic has grown past it.
   */
  private static void noteLoss(Connection connection, Ends ends, long known) throws SQLException {
    connection.setAutoCommit(false);
    try {
      if (lockProgress(connection, ends.topicId()) == known
          && number(connection, IS_GAP, ends.topicId(), known - 1) == 0) {
        insert(
            connection,
            ends.topicId(),
            known,
            now(connection),
            "gap",
            null,
            null,
            null,
            null,
            "gap",
            "Kafka lost offsets %d to %d after they were noted (an unclean election): what it keeps there and at offset %d from now on is not noted"
                .formatted(ends.end(), known - 1, known));
        moveProgress(connection, ends.topicId(), known + 1);
      }
      connection.commit();
    } finally {
      connection.rollback();
      connection.setAutoCommit(true);
    }
  }

  private static void insert(
      Connection connection, String topicId, long offset, @Nullable Object... columns)
      throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(
            """
            INSERT INTO payrelay.dead_letter (topic_id, topic_offset, dead_lettered_at, source, event_id,
              event_type, aggregate_id, original_topic, reason_code, reason)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)) {
      statement.setString(1, topicId);
      statement.setLong(2, offset);
      for (int i = 0; i < columns.length; i++) {
        statement.setObject(i + 3, columns[i]);
      }
      statement.executeUpdate();
    }
  }

  /** How far the topic was read; the first time from what it still holds. */
  private static long progress(Connection connection, Ends ends) throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(
            """
            INSERT INTO payrelay.dead_letter_progress (topic_id, next_offset, complete_at)
            VALUES (?, ?, '-infinity') ON CONFLICT DO NOTHING
            """)) {
      statement.setString(1, ends.topicId());
      statement.setLong(2, ends.start());
      statement.executeUpdate();
    }
    return number(
        connection,
        "SELECT next_offset FROM payrelay.dead_letter_progress WHERE topic_id = ?",
        ends.topicId());
  }

  private static long lockProgress(Connection connection, String topicId) throws SQLException {
    return number(
        connection,
        "SELECT next_offset FROM payrelay.dead_letter_progress WHERE topic_id = ? FOR UPDATE",
        topicId);
  }

  private static long number(Connection connection, String sql, String topicId, long... offsets)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      statement.setString(1, topicId);
      for (int i = 0; i < offsets.length; i++) {
        statement.setLong(i + 2, offsets[i]);
      }
      try (ResultSet rows = statement.executeQuery()) {
        rows.next();
        return rows.getLong(1);
      }
    }
  }

  private static void moveProgress(Connection connection, String topicId, long to)
      throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(
            "UPDATE payrelay.dead_letter_progress SET next_offset = ? WHERE topic_id = ?")) {
      statement.setLong(1, to);
      statement.setString(2, topicId);
      statement.executeUpdate();
    }
  }

  private static void finish(Connection connection, Ends ends, Timestamp began)
      throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(
            """
            UPDATE payrelay.dead_letter_progress SET complete_at = greatest(complete_at, ?)
            WHERE topic_id = ?
            """)) {
      statement.setTimestamp(1, began);
      statement.setString(2, ends.topicId());
      statement.executeUpdate();
    }
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
