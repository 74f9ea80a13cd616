package io.payrelay.relay;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.util.List;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * One life of the dead-letter topic's offsets, and how far it was read. Where Kafka loses records,
 * as in an unclean election, it gives their offsets anew, to others: these are another generation.
 * Immutable.
 *
 * @param topicId Kafka's
 * @param number 0 unless Kafka has lost records of the topic
 * @param next the first offset that is not noted
 */
record DeadLetterGeneration(String topicId, int number, long next) {

  private static final String MARK = "~";

  /** What the tables call it. */
  String name() {
    return name(topicId, number);
  }

  private static String name(String topicId, int number) {
    return number == 0 ? topicId : topicId + MARK + number;
  }

  /** What the tables call those before it, the newest last. */
  List<String> earlier() {
    return IntStream.range(0, number).mapToObj(one -> name(topicId, one)).toList();
  }

  /** Kafka's id of the topic that a name in the tables is of. */
  static String topicOf(String name) {
    int mark = name.indexOf(MARK);
    return mark < 0 ? name : name.substring(0, mark);
  }

  /**
   * What was read last before a topic was made anew; null where that one is known already, or
   * nothing was ever read.
   */
  static @Nullable DeadLetterGeneration before(Connection connection, String topicId)
      throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(
            """
            SELECT split_part(topic_id, '~', 1) FROM payrelay.dead_letter_progress
            WHERE NOT EXISTS (SELECT FROM payrelay.dead_letter_progress WHERE topic_id = ?)
            ORDER BY complete_at DESC LIMIT 1
            """)) {
      statement.setString(1, topicId);
      try (ResultSet rows = statement.executeQuery()) {
        return rows.next() ? current(connection, rows.getString(1), 0) : null;
      }
    }
  }

  /** The newest of a topic; the first time it is made, to be read from what the topic holds. */
  static DeadLetterGeneration current(Connection connection, String topicId, long start)
      throws SQLException {
    insert(connection, topicId, start);
    try (PreparedStatement statement =
        connection.prepareStatement(
            """
            SELECT coalesce(nullif(split_part(topic_id, '~', 2), ''), '0')::int AS number, next_offset
            FROM payrelay.dead_letter_progress WHERE split_part(topic_id, '~', 1) = ?
            ORDER BY number DESC LIMIT 1
            """)) {
      statement.setString(1, topicId);
      try (ResultSet rows = statement.executeQuery()) {
        rows.next();
        return new DeadLetterGeneration(topicId, rows.getInt(1), rows.getLong(2));
      }
    }
  }

  /**
   * Holds it until the transaction ends.
   *
   * @return how far it was read by now; -1 where there is a newer one
   */
  long lock(Connection connection) throws SQLException {
    long locked;
    try (PreparedStatement statement =
        connection.prepareStatement(
            "SELECT next_offset FROM payrelay.dead_letter_progress WHERE topic_id = ? FOR UPDATE")) {
      statement.setString(1, name());
      try (ResultSet rows = statement.executeQuery()) {
        rows.next();
        locked = rows.getLong(1);
      }
    }
    // A statement of its own: it sees what was committed while the lock was waited for.
    return current(connection, topicId, 0).number() == number ? locked : -1;
  }

  /** Writes that it was read up to there. */
  void move(Connection connection, long to) throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(
            "UPDATE payrelay.dead_letter_progress SET next_offset = ? WHERE topic_id = ?")) {
      statement.setLong(1, to);
      statement.setString(2, name());
      statement.executeUpdate();
    }
  }

  /** Writes that all is noted that was on the topic at that time. */
  void finish(Connection connection, Timestamp began) throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(
            """
            UPDATE payrelay.dead_letter_progress SET complete_at = greatest(complete_at, ?)
            WHERE topic_id = ?
            """)) {
      statement.setTimestamp(1, began);
      statement.setString(2, name());
      statement.executeUpdate();
    }
  }

  /** Begins the one after it, which reads again what is left of the topic. */
  void end(Connection connection, long start) throws SQLException {
    insert(connection, name(topicId, number + 1), start);
  }

  /** Begins the topic that was made anew. */
  static void begin(Connection connection, String topicId, long start) throws SQLException {
    insert(connection, topicId, start);
  }

  private static void insert(Connection connection, String name, long start) throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(
            """
            INSERT INTO payrelay.dead_letter_progress (topic_id, next_offset, complete_at)
            VALUES (?, ?, '-infinity') ON CONFLICT DO NOTHING
            """)) {
      statement.setString(1, name);
      statement.setLong(2, start);
      statement.executeUpdate();
    }
  }
}
