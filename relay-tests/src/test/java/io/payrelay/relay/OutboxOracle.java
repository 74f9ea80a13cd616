package io.payrelay.relay;

import io.payrelay.localstack.OutboxAudit;
import io.payrelay.schemas.EncodingException;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.EventCodec;
import io.payrelay.schemas.Topic;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.UUID;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/**
 * Compares the outbox table with what a read_committed consumer sees from its making on. Events of
 * one aggregate carry growing numbers in amount_minor; rows of another type are only counted.
 */
final class OutboxOracle implements AutoCloseable {

  private static final Duration QUIET = Duration.ofMillis(700);

  private final OutboxAudit audit;
  private final EventCodec codec = new EventCodec(EventCatalogue.builtIn());
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
    this.audit =
        new OutboxAudit(
            jdbcUrl,
            user,
            bootstrapServers,
            Topic.all().stream().map(Topic::name).toList(),
            this::number,
            OutboxOracle::sentAgain);
  }

  /** Reads until each row of the table has come and nothing more comes, or the limit is over. */
  Verdict await(Duration limit) throws SQLException {
    long deadlineNs = System.nanoTime() + limit.toNanos();
    long quietSinceNs = System.nanoTime();
    Set<UUID> table = audit.rows();
    while (System.nanoTime() < deadlineNs) {
      if (audit.poll(Duration.ofMillis(100), this::keep) > 0) {
        quietSinceNs = System.nanoTime();
      } else if (System.nanoTime() - quietSinceNs > QUIET.toNanos() && audit.hasAll(table)) {
        break;
      }
    }
    OutboxAudit.Verdict found = audit.verdict(table);
    return new Verdict(
        found.rows(), found.lost(), found.duplicated(), found.invented(), found.outOfOrder());
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

  private static boolean sentAgain(ConsumerRecord<byte[], byte[]> read) {
    return read.headers().lastHeader(PublishedEvents.REPUBLISHED_HEADER) != null;
  }

  private void keep(ConsumerRecord<byte[], byte[]> read) {
    if (sentAgain(read)) {
      republished.add(read);
      return;
    }
    if (read.headers().lastHeader(RelayRecovery.RECOVERED_HEADER) != null) {
      recovered++;
    }
    if (read.topic().equals(Topic.DEAD_LETTER)) {
      deadLetters.add(read);
    }
  }

  private OptionalLong number(ConsumerRecord<byte[], byte[]> read) {
    if (read.topic().equals(Topic.DEAD_LETTER)) {
      return OptionalLong.empty();
    }
    try {
      return OptionalLong.of((Long) codec.decode(read.value()).get("amount_minor"));
    } catch (EncodingException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public void close() {
    audit.close();
  }
}
