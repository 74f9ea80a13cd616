package io.payrelay.relay;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.errors.Failures;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.EventType;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.header.internals.RecordHeader;

/**
 * What {@code republish} does: sends stored events once more on purpose, with their own ids and a
 * header that says so, beside whatever the relay does. Not for concurrent use of one object.
 */
public final class Republisher {

  private static final int ROWS_READ_MAX = 50;
  private static final long TRANSACTION_BYTES_MAX = 8_000_000;

  private final RelayConfig config;
  private final DatabaseConfig database;
  private final KafkaConfig kafka;
  private final EventCatalogue catalogue;
  private final InstantSource clock;
  private final Consumer<String> progress;

  /** Prepares a run as a user that may read the outbox. */
  public Republisher(
      RelayConfig config,
      DatabaseConfig database,
      KafkaConfig kafka,
      EventCatalogue catalogue,
      InstantSource clock,
      Consumer<String> progress) {
    this.config = config;
    this.database = database;
    this.kafka = kafka;
    this.catalogue = catalogue;
    this.clock = clock;
    this.progress = progress;
  }

  /** Says what would be sent. */
  public RepublishReport plan(RepublishSelection selection) {
    return run(selection, false);
  }

  /**
   * Sends.
   *
   * @throws PayrelayException FATAL where there are too many events, RETRIABLE where a server
   *     failed: then part of them may have been sent
   */
  public RepublishReport execute(RepublishSelection selection) {
    return run(selection, true);
  }

  private RepublishReport run(RepublishSelection selection, boolean execute) {
    if (selection.to().isAfter(clock.instant())) {
      throw StartupCheck.refused(
          "--to %s lies in the future: what is not stored yet cannot be sent again"
              .formatted(selection.to()));
    }
    Set<String> refusedEventIds = ConcurrentHashMap.newKeySet();
    try (Connection connection =
            DatabaseConnection.open(database, "payrelay-republish", RelayRecovery.ANSWER_LIMIT);
        Admin admin = Admin.create(kafka.clientProperties("payrelay-republish-admin"))) {
      StartupCheck.build(connection);
      RecordFactory factory = RelayRecovery.factory(admin, catalogue, config, refusedEventIds);
      OutboxReader.begin(connection, null);
      OutboxReader reader = new OutboxReader(connection);
      List<RowRef> refs = new ArrayList<>();
      Map<String, Long> byType = new TreeMap<>();
      reader.scan(
          new OutboxReader.Filter(selection.from(), selection.to(), selection.aggregateIds()),
          head -> {
            if (refs.size() >= selection.eventsMax()) {
              throw StartupCheck.refused(
                  "More than %,d events are stored between %s and %s: narrow it down, or raise --max-events"
                      .formatted(selection.eventsMax(), selection.from(), selection.to()));
            }
            refs.add(head.ref());
          });
      RowRef.sort(refs);
      Sending sending = new Sending(reader, factory, byType, new ArrayList<>());
      if (!execute) {
        sending.look(refs);
      } else if (!refs.isEmpty()) {
        send(refs, sending, refusedEventIds);
      }
      return new RepublishReport(byType, sending.unencodable, execute);
    } catch (SQLException e) {
      throw StartupCheck.failed("The outbox could not be read", e);
    }
  }

  private void send(List<RowRef> refs, Sending sending, Set<String> refusedEventIds)
      throws SQLException {
    long committed = 0;
    try (Producer<byte[], byte[]> producer =
        RelayProducer.make(
            kafka,
            config,
            "payrelay-republish-" + config.slotName(),
            sending.factory.largestRecordBytes())) {
      // A second run at the same time ends the first one.
      producer.initTransactions();
      RowPublisher publisher =
          new RowPublisher(
              producer,
              sending.factory,
              refusedEventIds,
              new RecordHeader(
                  PublishedEvents.REPUBLISHED_HEADER, clock.instant().toString().getBytes(UTF_8)),
              false,
              clock);
      List<OutboxRow> rows = new ArrayList<>();
      long bytes = 0;
      for (int from = 0; from < refs.size(); from += ROWS_READ_MAX) {
        int to = Math.min(refs.size(), from + ROWS_READ_MAX);
        for (OutboxRow row : sending.reader.rows(refs.subList(from, to), 0)) {
          rows.add(row);
          bytes += row.payload().length();
        }
        if (to == refs.size()
            || rows.size() >= config.batchSizeMax()
            || bytes >= TRANSACTION_BYTES_MAX) {
          sending.count(rows, publisher.publish(rows, null, () -> {}));
          committed += rows.size();
          progress.accept("sent %,d of %,d events".formatted(committed, refs.size()));
          rows.clear();
          bytes = 0;
        }
      }
    } catch (KafkaException e) {
      throw new PayrelayException(
          Failures.categoryOf(e),
          "Kafka has not taken everything (%s): the first %,d of %,d events were sent; another run begins with the first one again"
              .formatted(e.getMessage(), committed, refs.size()),
          e);
    }
  }

  /** What is counted on the way. */
  private final class Sending {
    private final OutboxReader reader;
    private final RecordFactory factory;
    private final Map<String, Long> byType;
    private final List<String> unencodable;

    Sending(
        OutboxReader reader,
        RecordFactory factory,
        Map<String, Long> byType,
        List<String> unencodable) {
      this.reader = reader;
      this.factory = factory;
      this.byType = byType;
      this.unencodable = unencodable;
    }

    /** Encodes all of them, to say which cannot be. */
    void look(List<RowRef> refs) throws SQLException {
      for (int from = 0; from < refs.size(); from += ROWS_READ_MAX) {
        List<OutboxRow> rows =
            reader.rows(refs.subList(from, Math.min(refs.size(), from + ROWS_READ_MAX)), 0);
        count(
            rows,
            rows.stream()
                .filter(row -> factory.of(row, clock.millis()).deadLetter())
                .map(OutboxRow::eventId)
                .toList());
      }
    }

    void count(List<OutboxRow> rows, List<String> notSent) {
      unencodable.addAll(notSent);
      Set<String> left = new HashSet<>(notSent);
      for (OutboxRow row : rows) {
        if (!left.contains(row.eventId())) {
          String topic = catalogue.find(row.eventType()).map(EventType::topic).orElse("");
          byType.merge(topic + " " + row.eventType(), 1L, Long::sum);
        }
      }
    }
  }
}
