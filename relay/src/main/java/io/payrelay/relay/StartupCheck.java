package io.payrelay.relay;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.Failures;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.Migrations;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether position, slot and database belong together. It refuses with a sentence that says what to
 * run, and never guesses. Stateless.
 */
final class StartupCheck {

  private static final Logger log = LoggerFactory.getLogger(StartupCheck.class);

  private static final int VERSION_MIN = 15;

  private StartupCheck() {}

  /** Refuses a server that cannot do what the relay is built on. */
  static void version(int majorVersion) {
    if (majorVersion < VERSION_MIN) {
      throw refused(
          "PostgreSQL %d is too old: Payrelay needs %d or newer, for the publication's column list; upgrade PostgreSQL"
              .formatted(majorVersion, VERSION_MIN));
    }
  }

  /** Refuses where the schema is not the one of this build; for commands of other users too. */
  static void build(Connection connection) {
    try {
      String problem = Migrations.problem(connection);
      if (problem != null) {
        throw refused(problem);
      }
    } catch (SQLException e) {
      throw failed("The schema's version could not be read", e);
    }
  }

  /** Refuses where the relay's user lacks a right, or the schema is not the one of this build. */
  static void schema(Connection connection) {
    try {
      version(connection.getMetaData().getDatabaseMajorVersion());
      String lacks = SlotFacts.missingPrivileges(connection);
      if (lacks != null) {
        String user = connection.getMetaData().getUserName();
        throw refused(
            "User %s lacks %s: run GRANT payrelay_relay TO %s".formatted(user, lacks, user));
      }
    } catch (SQLException e) {
      throw failed("The privileges could not be read", e);
    }
    build(connection);
  }

  /**
   * Refuses where streaming from that position could lose, repeat or invent rows; else returns it,
   * as of what the server is now.
   *
   * @param position null: Kafka holds none
   */
  static Position all(
      Connection connection,
      RelayConfig config,
      @Nullable Position position,
      String clusterId,
      TimelineHistory.Source history) {
    schema(connection);
    try {
      SlotFacts.Server server = SlotFacts.server(connection);
      server(server);
      if (position != null) {
        // First what explains all the rest.
        origin(server, clusterId, position);
        timeline(server.timeline(), position, history);
      }
      String publication = SlotFacts.publicationProblem(connection, config.publicationName());
      if (publication != null) {
        throw refused(publicationSentence(config.publicationName(), publication, position));
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
      notAhead(SlotFacts.currentLsn(connection), position);
      String identity = SlotFacts.publicationIdentity(connection, config.publicationName());
      samePublication(identity, config.publicationName(), position);
      return position.of(
          new DatabaseIdentity(server.systemId(), server.timeline(), clusterId, identity));
    } catch (SQLException e) {
      throw failed("The slot could not be checked", e);
    }
  }

  /**
   * Refuses what never had to do with this slot, such as another database, before it touches the
   * slot's rightful relay.
   *
   * @param position null: none is known yet
   */
  static void beforeFencing(
      Connection connection, RelayConfig config, @Nullable Position position, String clusterId)
      throws SQLException {
    SlotFacts.Server server = SlotFacts.server(connection);
    server(server);
    if (position != null) {
      origin(server, clusterId, position);
    }
    SlotFacts.slot(connection, config.slotName()).ifPresent(slot -> ours(slot, config.slotName()));
  }

  /** What is wrong where nobody in this database ever owned the slot. */
  static PayrelayException unknownSlot(
      Connection connection, RelayConfig config, @Nullable Position position, String clusterId) {
    try {
      beforeFencing(connection, config, position, clusterId);
      return refused(noSlot(config.slotName(), position));
    } catch (SQLException e) {
      return failed("The slot could not be checked", e);
    }
  }

  /** Refuses a relay that would set aside, out of order, what upstreams may write. */
  static void eventTypes(Connection connection, EventCatalogue catalogue) throws SQLException {
    List<String> unknown = new ArrayList<>();
    try (Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery("SELECT event_type FROM payrelay.event_type ORDER BY 1")) {
      while (rows.next()) {
        if (catalogue.find(rows.getString(1)).isEmpty()) {
          unknown.add(rows.getString(1));
        }
      }
    }
    if (!unknown.isEmpty()) {
      throw refused(
          "Event types %s of payrelay.event_type are not in this relay's catalogue, so their events would become dead letters: set PAYRELAY_SCHEMAS_DIR to the folder that `payrelay migrate` had, or run the newer build; one that is given up for good is deleted from that table"
              .formatted(String.join(", ", unknown)));
    }
  }

  /** Refuses a slot that is not the relay's to read. */
  static void ours(SlotFacts.Slot slot, String slotName) {
    if (!slot.plugin().equals("pgoutput") || !slot.ofThisDatabase()) {
      throw refused(
          "Slot %s is another program's: set PAYRELAY_RELAY_SLOT_NAME".formatted(slotName));
    }
  }

  /** Refuses where the server cannot serve logical replication to this user. */
  static void server(SlotFacts.Server server) {
    if (server.inRecovery()) {
      throw standby(null);
    }
    if (!server.walLevel().equals("logical")) {
      throw refused(
          "wal_level is %s: set wal_level = logical in PostgreSQL and restart it"
              .formatted(server.walLevel()));
    }
    if (!server.mayReplicate()) {
      throw refused(
          "User %s may not replicate: run ALTER ROLE %s REPLICATION"
              .formatted(server.user(), server.user()));
    }
  }

  /** Refuses a slot that cannot serve what comes after the position. */
  static void slot(SlotFacts.Slot slot, String slotName, Position position) {
    ours(slot, slotName);
    if (slot.walStatus().equals("lost")) {
      String reason = slot.invalidation();
      throw refused(
          reason == null || reason.equals("wal_removed")
              ? "PostgreSQL has removed WAL that slot %s still needed (max_slot_wal_keep_size): run `payrelay relay recover`"
                  .formatted(slotName)
              : "PostgreSQL has invalidated slot %s (%s): run `payrelay relay recover`"
                  .formatted(slotName, reason));
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
  }

  /** Refuses a server that was promoted without all that the position speaks of. */
  private static void timeline(long timeline, Position position, TimelineHistory.Source history) {
    if (timeline == position.origin().timeline()) {
      return;
    }
    String lacks = history.of(timeline).lacks(position);
    if (lacks != null) {
      throw refused(
          "PostgreSQL's timeline %d %s: Kafka holds what this server has lost or never had (a failover to a standby that was behind, an old primary, a restored backup); check PAYRELAY_DATABASE_URL, then run `payrelay relay recover`"
              .formatted(timeline, lacks));
    }
    log.info(
        "timeline={} descends from the position's, {}", timeline, position.origin().timeline());
  }

  private static void samePublication(String identity, String name, Position position) {
    String known = position.origin().publication();
    if (!known.isEmpty() && !known.equals(identity)) {
      throw refused(
          "Publication %s was altered or made anew since the relay's position %s: rows written meanwhile may never come; run `payrelay relay recover`"
              .formatted(name, position));
    }
  }

  private static void notAhead(long currentLsn, Position position) {
    if (Long.compareUnsigned(position.commitLsn(), currentLsn) > 0) {
      throw refused(
          "The relay's position %s lies beyond the end of PostgreSQL's WAL, %s: this database has lost what Kafka holds (a restored backup?); run `payrelay relay recover`"
              .formatted(position, Lsn.text(currentLsn)));
    }
  }

  private static String publicationSentence(
      String name, String problem, @Nullable Position position) {
    String drop = problem.equals("does not exist") ? "" : "DROP PUBLICATION " + name + ", then ";
    // The walsender stumbles over what was written without it, or skips it, by its version.
    String recover =
        position == null
            ? ""
            : " and after it `payrelay relay recover`, since rows written meanwhile may never come";
    return "Publication %s %s: run %s`payrelay migrate`%s".formatted(name, problem, drop, recover);
  }

  private static String noSlot(String slotName, @Nullable Position position) {
    return position == null
        ? "There is no replication slot %s: run `payrelay migrate`".formatted(slotName)
        : "Replication slot %s is gone, but Kafka holds a position of it (%s): run `payrelay relay recover`"
            .formatted(slotName, position);
  }

  /** It may be promoted any moment, or the address may move to the new primary. */
  private static PayrelayException standby(@Nullable SQLException cause) {
    return new PayrelayException(
        Category.RETRIABLE,
        "PAYRELAY_DATABASE_URL leads to a standby server: the primary is needed; use an address that follows it",
        cause);
  }

  static PayrelayException refused(String sentence) {
    return new PayrelayException(Category.FATAL, sentence);
  }

  /** FATAL where a privilege or an object is missing; all else may heal. */
  static PayrelayException failed(String sentence, SQLException cause) {
    return failed(
        sentence,
        cause,
        "the relay's user needs role payrelay_relay and attribute REPLICATION, and the schema must"
            + " be there: run `payrelay migrate`");
  }

  /**
   * As above.
   *
   * @param needs what the user needs, as the end of a sentence
   */
  static PayrelayException failed(String sentence, SQLException cause, String needs) {
    String state = Failures.sqlState(cause);
    if ("25006".equals(state)) {
      return standby(cause);
    }
    boolean missing = state != null && (state.startsWith("28") || state.startsWith("42"));
    return missing
        ? new PayrelayException(
            Category.FATAL, "%s (SQLSTATE %s): %s".formatted(sentence, state, needs), cause)
        : new PayrelayException(Category.RETRIABLE, sentence, cause);
  }
}
