package io.payrelay.relay;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.Failures;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.schemas.Migrations;
import java.sql.Connection;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/**
 * Whether position, slot and database belong together. It refuses with a sentence that says what to
 * run, and never guesses. Stateless.
 */
final class StartupCheck {

  private StartupCheck() {}

  /** Refuses where the schema is not the one of this build. */
  static void schema(Connection connection) {
    try {
      String problem = Migrations.problem(connection);
      if (problem != null) {
        throw refused(problem);
      }
    } catch (SQLException e) {
      throw failed("The schema's version could not be read", e);
    }
  }

  /**
   * Refuses where streaming from that position could lose, repeat or invent rows.
   *
   * @param position null: Kafka holds none
   */
  static Position all(
      Connection connection, RelayConfig config, @Nullable Position position, String clusterId) {
    schema(connection);
    try {
      SlotFacts.Server server = SlotFacts.server(connection);
      server(server);
      String publication = SlotFacts.publicationProblem(connection, config.publicationName());
      if (publication != null) {
        throw refused(
            "Publication %s %s: drop it if it exists, then run `payrelay migrate`"
                .formatted(config.publicationName(), publication));
      }
      SlotFacts.Slot slot =
          SlotFacts.slot(connection, config.slotName())
              .orElseThrow(() -> refused(noSlot(config.slotName(), position)));
      if (position == null) {
        throw refused(
            "Slot %s has no position in Kafka: run `payrelay migrate`; where that refuses, `payrelay relay recover`"
                .formatted(config.slotName()));
      }
      slot(slot, config.slotName(), position);
      origin(server, clusterId, position);
      notAhead(SlotFacts.currentLsn(connection), position);
      return position;
    } catch (SQLException e) {
      throw failed("The slot could not be checked", e);
    }
  }

  /** Refuses where the server cannot serve logical replication to this user. */
  static void server(SlotFacts.Server server) {
    if (server.inRecovery()) {
      // It may be promoted any moment, or the address may move to the new primary.
      throw new PayrelayException(
          Category.RETRIABLE,
          "PAYRELAY_DATABASE_URL leads to a standby server: the relay needs the primary");
    }
    if (!server.walLevel().equals("logical")) {
      throw refused(
          "wal_level is %s: set wal_level = logical in PostgreSQL and restart it"
              .formatted(server.walLevel()));
    }
    if (!server.mayReplicate()) {
      throw refused(
          "The user of PAYRELAY_DATABASE_USER may not replicate: run ALTER ROLE ... REPLICATION");
    }
  }

  /** Refuses a slot that cannot serve what comes after the position. */
  static void slot(SlotFacts.Slot slot, String slotName, Position position) {
    if (!slot.plugin().equals("pgoutput") || !slot.ofThisDatabase()) {
      throw refused(
          "Slot %s is another program's: set PAYRELAY_RELAY_SLOT_NAME".formatted(slotName));
    }
    if (slot.walStatus().equals("lost")) {
      throw refused(
          "PostgreSQL has removed WAL that slot %s still needed (max_slot_wal_keep_size): run `payrelay relay recover`"
              .formatted(slotName));
    }
    if (Long.compareUnsigned(slot.confirmedLsn(), position.commitLsn()) > 0) {
      throw refused(
          "Slot %s is confirmed to %s, beyond the relay's position %s: somebody else read from it or made it anew; run `payrelay relay recover`"
              .formatted(slotName, Lsn.text(slot.confirmedLsn()), position));
    }
  }

  /** Refuses a position that another database or cluster wrote. */
  static void origin(SlotFacts.Server server, String clusterId, Position position) {
    DatabaseIdentity origin = position.origin();
    if (!origin.systemId().equals(server.systemId())) {
      throw refused(
          "The relay's position is of another PostgreSQL (system identifier %s, this one has %s): check PAYRELAY_DATABASE_URL; after a move run `payrelay relay recover`"
              .formatted(origin.systemId(), server.systemId()));
    }
    if (!origin.kafkaClusterId().equals(clusterId)) {
      throw refused(
          "The relay's position was written in another Kafka cluster (%s, this one is %s): check PAYRELAY_KAFKA_BOOTSTRAP_SERVERS; after a move run `payrelay relay recover`"
              .formatted(origin.kafkaClusterId(), clusterId));
    }
    if (origin.timeline() != server.timeline()) {
      throw refused(
          "PostgreSQL is on timeline %d, the relay's position on %d: after a failover or a restored backup run `payrelay relay recover`"
              .formatted(server.timeline(), origin.timeline()));
    }
  }

  private static void notAhead(long currentLsn, Position position) {
    if (Long.compareUnsigned(position.commitLsn(), currentLsn) > 0) {
      throw refused(
          "The relay's position %s lies beyond the end of PostgreSQL's WAL, %s: this database has lost what Kafka holds (a restored backup?); run `payrelay relay recover`"
              .formatted(position, Lsn.text(currentLsn)));
    }
  }

  private static String noSlot(String slotName, @Nullable Position position) {
    return position == null
        ? "There is no replication slot %s: run `payrelay migrate`".formatted(slotName)
        : "Replication slot %s is gone, but Kafka holds a position of it (%s): run `payrelay relay recover`"
            .formatted(slotName, position);
  }

  static PayrelayException refused(String sentence) {
    return new PayrelayException(Category.FATAL, sentence);
  }

  /** FATAL where a privilege or an object is missing; all else may heal. */
  static PayrelayException failed(String sentence, SQLException cause) {
    String state = Failures.sqlState(cause);
    boolean missing = state != null && (state.startsWith("28") || state.startsWith("42"));
    return missing
        ? new PayrelayException(
            Category.FATAL,
            sentence
                + " (SQLSTATE "
                + state
                + "): the relay's user needs role payrelay_relay and attribute REPLICATION, and"
                + " the schema must be there: run `payrelay migrate`",
            cause)
        : new PayrelayException(Category.RETRIABLE, sentence, cause);
  }
}
