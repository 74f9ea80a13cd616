package io.payrelay.relay;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.EventType;
import java.sql.SQLException;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;

/**
 * The rows of a snapshot against the events that Kafka holds: which are missing, and of which of
 * those nobody can say whether Kafka once had them. Belongs to one thread.
 */
final class RecoveryDifference {

  private static final int EXAMPLES = 3;
  private static final long PROGRESS_ROWS = 1_000_000;

  private final RecoveryFacts facts;
  private final PublishedEvents published;
  private final EventCatalogue catalogue;
  private final long missingMax;
  private final List<RowRef> missing = new ArrayList<>();
  private final Map<String, Group> missingByType = new TreeMap<>();
  private final Map<String, Group> doubtfulByPartition = new TreeMap<>();
  private final Group untimed = new Group();
  private long rows;
  private long inTopics;
  private long inDeadLetters;
  private @Nullable String daysRefusal;
  private @Nullable String daysNote;

  /** Some events of a kind, the first of them by id. */
  static final class Group {
    private long count;
    private final List<UUID> examples = new ArrayList<>();

    private void add(UUID eventId) {
      count++;
      if (examples.size() < EXAMPLES) {
        examples.add(eventId);
      }
    }

    long count() {
      return count;
    }

    @Override
    public String toString() {
      return "%,d, event ids %s%s"
          .formatted(
              count,
              examples.stream().map(UUID::toString).collect(Collectors.joining(", ")),
              count > examples.size() ? " ..." : "");
    }
  }

  RecoveryDifference(
      RecoveryFacts facts, PublishedEvents published, EventCatalogue catalogue, long missingMax) {
    this.facts = facts;
    this.published = published;
    this.catalogue = catalogue;
    this.missingMax = missingMax;
  }

  /** Compares all rows from the bound on. */
  RecoveryDifference compare(OutboxReader reader, Consumer<String> progress) throws SQLException {
    checkDays(reader.days());
    reader.scan(
        new OutboxReader.Filter(facts.bound(), null, List.of()),
        head -> {
          take(head);
          if (rows % PROGRESS_ROWS == 0) {
            progress.accept("compared %,d rows of the outbox".formatted(rows));
          }
        });
    RowRef.sort(missing);
    return this;
  }

  /** In the order in which to publish. */
  List<RowRef> missing() {
    return missing;
  }

  long rows() {
    return rows;
  }

  long inTopics() {
    return inTopics;
  }

  long inDeadLetters() {
    return inDeadLetters;
  }

  /** By topic and event type. */
  Map<String, Group> missingByType() {
    return missingByType;
  }

  /** Rows that may be among the records deleted from a partition. */
  Map<String, Group> doubtfulByPartition() {
    return doubtfulByPartition;
  }

  /** Missing rows of which not even their time says whether they may have been published. */
  Group untimed() {
    return untimed;
  }

  /** What a person should know of days that have no partition, or null. */
  @Nullable String daysNote() {
    return daysNote;
  }

  /** Why these rows must not be published without a person's word, or null. */
  @Nullable String refusal(RecoveryOptions options) {
    if (daysRefusal != null) {
      return daysRefusal;
    }
    if (options.publishDoubtful()) {
      return null;
    }
    List<String> doubts = new ArrayList<>();
    if (!doubtfulByPartition.isEmpty()) {
      long count = doubtfulByPartition.values().stream().mapToLong(Group::count).sum();
      doubts.add(
          "Kafka has deleted records of %s that may have been published after the bound %s: nobody can say whether %,d of the missing rows were among them. Set a shorter --longest-transaction or a later --since if that is true of your transactions, or publish them in any case with --publish-doubtful (consumers may then see them twice)"
              .formatted(
                  String.join(", ", doubtfulByPartition.keySet()),
                  boundText(facts.bound()),
                  count));
    }
    if (untimed.count() > 0) {
      doubts.add(
          "The created_at of %s cannot be the time at which the row was written, and not all that Kafka ever had was compared: nobody can say whether they were published. Compare all that Kafka has (a --longest-transaction of many years) where it has deleted nothing, or publish them in any case with --publish-doubtful (consumers may then see them twice)"
              .formatted(untimed));
    }
    return doubts.isEmpty() ? null : String.join(". ", doubts);
  }

  static String boundText(@Nullable Object bound) {
    return bound == null ? "(the whole outbox)" : bound.toString();
  }

  private void take(OutboxReader.Head head) {
    rows++;
    UUID eventId = head.ref().eventId();
    if (published.inTopics(eventId)) {
      inTopics++;
      return;
    }
    if (published.inDeadLetters(eventId)) {
      inDeadLetters++;
      return;
    }
    if (missing.size() >= missingMax) {
      throw new PayrelayException(
          Category.FATAL,
          "More than %,d rows are missing in Kafka, which do not fit into this process's memory: give it more (JAVA_OPTS=-Xmx..., about %d bytes an event)"
              .formatted(missingMax, RowRef.BYTES * 3));
    }
    missing.add(head.ref());
    String topic = catalogue.find(head.eventType()).map(EventType::topic).orElse("");
    missingByType
        .computeIfAbsent(
            (topic.isEmpty() ? "payrelay.dead-letter" : topic) + " " + head.eventType(),
            key -> new Group())
        .add(eventId);
    if (!head.timeTrue()) {
      if (!published.allEver(topic, head.aggregateId())) {
        untimed.add(eventId);
      }
      return;
    }
    if (facts.neverPublished(head.ref().createdUsec())) {
      return;
    }
    TopicPartition partition =
        published.mayHaveHeld(
            topic,
            head.aggregateId(),
            head.ref().createdUsec(),
            RecoveryFacts.CLOCK_MARGIN.toMillis());
    if (partition != null) {
      doubtfulByPartition.computeIfAbsent(partition.toString(), key -> new Group()).add(eventId);
    }
  }

  /** Days are dropped from the oldest on, and only what the relay had delivered. */
  private void checkDays(OutboxReader.Days days) {
    if (days.partitions().isEmpty() || days.installed() == null) {
      return;
    }
    LocalDate oldest = days.partitions().first();
    // The day after: the date is of the session that migrated, in whatever zone.
    LocalDate first = days.installed().plusDays(1);
    if (!oldest.isAfter(first)) {
      return;
    }
    if (facts.bound() == null) {
      daysNote =
          "outbox partitions of days before " + oldest + " are gone: their rows are not looked at";
    } else if (facts.bound().atOffset(ZoneOffset.UTC).toLocalDate().isBefore(oldest)) {
      daysRefusal =
          "Outbox partitions of days before %s are gone, but rows since the bound %s may be missing in Kafka: attach them again (ALTER TABLE payrelay.outbox ATTACH PARTITION), or, where it is certain that they were published, set a shorter --longest-transaction or a later --since"
              .formatted(oldest, facts.bound());
    }
  }
}
