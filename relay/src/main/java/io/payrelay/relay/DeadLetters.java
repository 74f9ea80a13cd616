package io.payrelay.relay;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.schemas.EventCatalogue;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.header.Header;
import org.jspecify.annotations.Nullable;

/**
 * What an operator does with dead letters: look, redrive after a fix, or discard. First of all it
 * notes what is new on the topic. Holds a database connection; belongs to one thread.
 */
public final class DeadLetters implements AutoCloseable {

  private static final Duration ANSWER_LIMIT = Duration.ofSeconds(60);

  private static final String SELECT =
      """
      SELECT d.topic_id, d.topic_offset, d.dead_lettered_at, d.source, d.event_id, d.event_type,
        d.aggregate_id, d.original_topic, d.reason_code, d.reason, r.kind, r.resolved_by, r.why
      FROM payrelay.dead_letter d
      LEFT JOIN payrelay.dead_letter_resolution r USING (topic_id, topic_offset)
      """;

  private final Connection connection;
  private final DeadLetterLog log;
  private final DeadLetterSender sender;
  private String topicId;

  /** Which to show; null or false takes all. */
  public record Filter(
      int limit,
      @Nullable Instant since,
      @Nullable String source,
      @Nullable String reasonCode,
      @Nullable String eventType,
      @Nullable String aggregateId,
      boolean unresolvedOnly) {}

  /**
   * A dead letter and what it is about.
   *
   * @param headers of the record; empty where Kafka does not have it any more
   * @param payload as it was on the topic, or else in the outbox; null where neither has it
   * @param lost why Kafka does not show it; null where it does
   */
  public record Original(
      DeadLetter letter,
      Map<String, String> headers,
      byte @Nullable [] payload,
      @Nullable String lost) {}

  /** What became, or would become, of one. */
  public record Outcome(DeadLetter letter, boolean done, String sentence) {}

  /** What Kafka holds of a letter, or why it does not. */
  private record Found(@Nullable ConsumerRecord<byte[], byte[]> record, @Nullable String lost) {}

  private DeadLetters(Connection connection, DeadLetterLog log, DeadLetterSender sender)
      throws SQLException {
    this.connection = connection;
    this.log = log;
    this.sender = sender;
    this.topicId = log.catchUp(connection);
  }

  /**
   * Opens, and notes what is new on the topic.
   *
   * @throws PayrelayException with a sentence where database or Kafka do not answer or refuse
   */
  public static DeadLetters open(
      DatabaseConfig database,
      KafkaConfig kafka,
      EventCatalogue catalogue,
      FramingConfig framing,
      InstantSource clock) {
    Connection connection =
        DatabaseConnection.open(database, "payrelay-dead-letters", ANSWER_LIMIT);
    try {
      StartupCheck.build(connection);
      return new DeadLetters(
          connection,
          new DeadLetterLog(kafka),
          new DeadLetterSender(kafka, catalogue, framing, clock));
    } catch (SQLException e) {
      throw closing(connection, failed(e));
    } catch (RuntimeException e) {
      throw closing(connection, e);
    }
  }

  private static RuntimeException closing(Connection connection, RuntimeException failure) {
    try {
      connection.close();
    } catch (SQLException e) {
      failure.addSuppressed(e);
    }
    return failure;
  }

  /** The newest first. */
  public List<DeadLetter> list(Filter filter) {
    String sql =
        SELECT
            + """
            WHERE (?::timestamptz IS NULL OR d.dead_lettered_at >= ?::timestamptz)
              AND (?::text IS NULL OR d.source = ?) AND (?::text IS NULL OR d.reason_code = ?)
              AND (?::text IS NULL OR d.event_type = ?) AND (?::text IS NULL OR d.aggregate_id = ?)
              AND (NOT ? OR r.kind IS NULL)
            ORDER BY d.dead_lettered_at DESC, d.topic_offset DESC LIMIT ?
            """;
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      Timestamp since = filter.since() == null ? null : Timestamp.from(filter.since());
      statement.setTimestamp(1, since);
      statement.setTimestamp(2, since);
      String[] texts = {
        filter.source(), filter.reasonCode(), filter.eventType(), filter.aggregateId()
      };
      for (int i = 0; i < texts.length; i++) {
        statement.setString(3 + 2 * i, texts[i]);
        statement.setString(4 + 2 * i, texts[i]);
      }
      statement.setBoolean(11, filter.unresolvedOnly());
      statement.setInt(12, filter.limit());
      return letters(statement);
    } catch (SQLException e) {
      throw failed(e);
    }
  }

  /**
   * What is lost of the topic, as far as nobody has dealt with it: until then no day of the outbox
   * is dropped.
   */
  public List<String> losses() {
    return list(new Filter(Integer.MAX_VALUE, null, DeadLetterRecord.GAP, null, null, null, true))
        .stream()
        .map(
            gap ->
                "%s; no day of the outbox is dropped until somebody has looked and run `payrelay dead-letters discard %s --why ... --execute`"
                    .formatted(gap.reason(), gap.id()))
        .toList();
  }

  /**
   * One, with headers and payload.
   *
   * @throws PayrelayException REJECTED where there is none of that id
   */
  public Original show(String id) {
    DeadLetter letter = find(id);
    Found found = onTopic(letter);
    ConsumerRecord<byte[], byte[]> record = found.record();
    if (record != null) {
      Map<String, String> headers = new LinkedHashMap<>();
      for (Header header : record.headers()) {
        headers.put(
            header.key(), DeadLetterRecord.orElse(DeadLetterRecord.text(header.value()), ""));
      }
      return new Original(letter, headers, record.value(), null);
    }
    List<OutboxRow> rows = rows(letter);
    return new Original(
        letter,
        Map.of(),
        rows.size() == 1 ? rows.get(0).payload().getBytes(UTF_8) : null,
        found.lost());
  }

  /**
   * Sends again what the dead letters are about: of the relay's, the outbox row, encoded anew under
   * its event id; of the charge worker's, the original record to its topic. Event and the note that
   * it was redriven are one Kafka transaction: however it ends, it is not sent twice.
   *
   * @param by who, for the record
   * @param why for the record
   * @param execute false: says what would be done
   */
  public List<Outcome> redrive(List<String> ids, String by, String why, boolean execute) {
    if (!execute) {
      return plan(ids);
    }
    try (DeadLetterSender.Session session = sender.open()) {
      // Fenced first, read again afterwards: nobody else is redriving any more.
      topicId = log.catchUp(connection);
      List<Outcome> outcomes = new ArrayList<>();
      Set<String> done = new HashSet<>();
      for (String id : ids) {
        DeadLetter letter = find(id);
        if (!done.add(letter.id())) {
          continue;
        }
        DeadLetterSender.Planned planned = planned(letter);
        if (planned.record() != null) {
          session.send(planned.record(), marker(letter, DeadLetter.REDRIVEN, by, why));
          outcomes.add(new Outcome(letter, true, "redriven to " + planned.record().topic()));
        } else {
          outcomes.add(new Outcome(letter, false, planned.sentence()));
        }
      }
      log.catchUp(connection);
      return outcomes;
    } catch (SQLException e) {
      throw failed(e);
    }
  }

  /** Notes that nothing will come of them: the days of the outbox are not held for them longer. */
  public List<Outcome> discard(List<String> ids, String by, String why, boolean execute) {
    if (!execute) {
      return ids.stream()
          .map(this::find)
          .map(
              letter ->
                  new Outcome(
                      letter,
                      false,
                      letter.isUnresolved() ? "would be discarded" : alreadyResolved(letter)))
          .toList();
    }
    try (DeadLetterSender.Session session = sender.open()) {
      topicId = log.catchUp(connection);
      List<Outcome> outcomes = new ArrayList<>();
      Set<String> done = new HashSet<>();
      for (String id : ids) {
        DeadLetter letter = find(id);
        if (!done.add(letter.id())) {
          continue;
        }
        if (letter.isUnresolved()) {
          session.send(null, marker(letter, DeadLetter.DISCARDED, by, why));
          outcomes.add(new Outcome(letter, true, "discarded"));
        } else {
          outcomes.add(new Outcome(letter, false, alreadyResolved(letter)));
        }
      }
      log.catchUp(connection);
      return outcomes;
    } catch (SQLException e) {
      throw failed(e);
    }
  }

  @Override
  public void close() {
    try {
      connection.close();
    } catch (SQLException e) {
      throw failed(e);
    }
  }

  private List<Outcome> plan(List<String> ids) {
    List<Outcome> outcomes = new ArrayList<>();
    for (String id : ids) {
      DeadLetter letter = find(id);
      DeadLetterSender.Planned planned = planned(letter);
      outcomes.add(
          new Outcome(
              letter,
              false,
              planned.record() == null
                  ? planned.sentence()
                  : "would be redriven to " + planned.record().topic()));
    }
    return outcomes;
  }

  private DeadLetterSender.Planned planned(DeadLetter letter) {
    if (!letter.isUnresolved()) {
      return DeadLetterSender.Planned.not(alreadyResolved(letter));
    }
    Found found = onTopic(letter);
    DeadLetterSender.Planned planned = sender.plan(letter, found.record(), rows(letter));
    return planned.record() == null && found.lost() != null
        ? DeadLetterSender.Planned.not(planned.sentence() + " (" + found.lost() + ")")
        : planned;
  }

  private static String alreadyResolved(DeadLetter letter) {
    return "is %s already, by %s: %s"
        .formatted(letter.resolution(), letter.resolvedBy(), letter.why());
  }

  private DeadLetterSender.Marker marker(DeadLetter letter, String kind, String by, String why) {
    String[] place = place(letter.id());
    return new DeadLetterSender.Marker(
        new DeadLetterRecord.Resolution(place[0], Long.parseLong(place[1]), kind, by, why),
        letter.eventId(),
        letter.aggregateId());
  }

  private Found onTopic(DeadLetter letter) {
    if (letter.source().equals(DeadLetterRecord.GAP)) {
      return new Found(null, null);
    }
    String[] place = place(letter.id());
    if (!DeadLetterGeneration.topicOf(place[0]).equals(topicId)) {
      return new Found(null, "the topic was made anew");
    }
    ConsumerRecord<byte[], byte[]> record = log.record(Long.parseLong(place[1]));
    if (record == null) {
      return new Found(null, "Kafka does not hold its record any more");
    }
    // After an unclean election, or on a topic made anew, another one may lie at its offset.
    return DeadLetterRecord.isOf(letter, record)
        ? new Found(record, null)
        : new Found(null, "Kafka has lost its record and holds another one at its offset");
  }

  private List<OutboxRow> rows(DeadLetter letter) {
    if (letter.eventId() == null) {
      return List.of();
    }
    try {
      return StoredRows.withEventId(connection, UUID.fromString(letter.eventId()));
    } catch (SQLException e) {
      throw failed(e);
    }
  }

  private DeadLetter find(String id) {
    String[] place = place(id);
    try (PreparedStatement statement =
        connection.prepareStatement(SELECT + "WHERE d.topic_id = ? AND d.topic_offset = ?")) {
      statement.setString(1, place[0]);
      statement.setLong(2, Long.parseLong(place[1]));
      List<DeadLetter> found = letters(statement);
      if (found.isEmpty()) {
        throw new PayrelayException(
            Category.REJECTED,
            "There is no dead letter " + id + ": `payrelay dead-letters list` shows their ids");
      }
      return found.get(0);
    } catch (SQLException e) {
      throw failed(e);
    }
  }

  /** Topic id and offset. */
  private String[] place(String id) {
    if (!id.matches("([^/]{1,64}/)?\\d{1,18}")) {
      throw new PayrelayException(
          Category.REJECTED,
          "%s is not the id of a dead letter: `payrelay dead-letters list` shows them"
              .formatted(id));
    }
    int slash = id.lastIndexOf('/');
    return slash < 0
        ? new String[] {topicId, id}
        : new String[] {id.substring(0, slash), id.substring(slash + 1)};
  }

  private List<DeadLetter> letters(PreparedStatement statement) throws SQLException {
    List<DeadLetter> letters = new ArrayList<>();
    try (ResultSet rows = statement.executeQuery()) {
      while (rows.next()) {
        String ofTopic = rows.getString(1);
        String offset = Long.toString(rows.getLong(2));
        letters.add(
            new DeadLetter(
                ofTopic.equals(topicId) ? offset : ofTopic + "/" + offset,
                rows.getTimestamp(3).toInstant(),
                rows.getString(4),
                rows.getString(5),
                rows.getString(6),
                rows.getString(7),
                rows.getString(8),
                rows.getString(9),
                rows.getString(10),
                rows.getString(11),
                rows.getString(12),
                rows.getString(13)));
      }
    }
    return letters;
  }

  private static PayrelayException failed(SQLException e) {
    return StartupCheck.failed("The dead letters could not be read from the database", e);
  }
}
