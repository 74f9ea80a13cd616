package io.payrelay.relay;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.schemas.Topic;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Optional;
import org.apache.kafka.clients.admin.Admin;
import org.jspecify.annotations.Nullable;

/**
 * What slot, position and servers say before a recovery, and from when on rows may be missing.
 * Immutable.
 *
 * @param cause why the relay would refuse, or null where it would start
 * @param doneUntil all that committed before it is in Kafka, as the position says; null: nobody
 *     knows
 * @param bound rows created before it are not looked at; null: all are
 * @param activeOwner a relay that holds the lease, or null
 */
record RecoveryFacts(
    PositionStore.@Nullable Stored stored,
    Optional<SlotFacts.Slot> slot,
    DatabaseIdentity origin,
    @Nullable String cause,
    @Nullable Instant doneUntil,
    @Nullable Instant bound,
    @Nullable String activeOwner) {

  /** By which the clocks of a relay's host and of the database may differ. */
  static final Duration CLOCK_MARGIN = Duration.ofMinutes(10);

  private static final Duration POSITION_READ_MARGIN = Duration.ofSeconds(15);

  /**
   * Asks both servers; changes nothing.
   *
   * @throws PayrelayException FATAL where something stands against any recovery
   */
  static RecoveryFacts ask(
      Connection connection,
      Admin admin,
      PositionStore store,
      RelayConfig config,
      RecoveryOptions options,
      TimelineHistory.Source history)
      throws SQLException {
    StartupCheck.schema(connection);
    SlotFacts.Server server = SlotFacts.server(connection);
    StartupCheck.server(server);
    Instant since = options.since();
    if (since != null && since.isAfter(RelayRecovery.databaseTime(connection))) {
      // Nothing would be compared, and whatever Kafka lacks would be skipped for ever.
      throw StartupCheck.refused(
          "--since %s lies in the future of the database's clock: name a time up to which all is in Kafka"
              .formatted(since));
    }
    String publication = SlotFacts.publicationProblem(connection, config.publicationName());
    if (publication != null) {
      throw StartupCheck.refused(
          "Publication %s %s: drop it if it exists, run `payrelay migrate` (it makes the publication before it refuses), then this again"
              .formatted(config.publicationName(), publication));
    }
    Optional<SlotFacts.Slot> slot = SlotFacts.slot(connection, config.slotName());
    if (slot.isPresent()
        && (!slot.get().plugin().equals("pgoutput") || !slot.get().ofThisDatabase())) {
      throw StartupCheck.refused(
          "Slot %s is another program's: set PAYRELAY_RELAY_SLOT_NAME"
              .formatted(config.slotName()));
    }
    OtherSlots.refuse(connection, admin, config.slotName());
    String clusterId = Futures.get(admin.describeCluster().clusterId());
    PositionStore.Stored stored = null;
    String unreadable = null;
    try {
      stored =
          Topics.exists(admin, Topic.relayPosition(config.slotName()).name())
              ? store.readStored(admin, config.transactionTimeout().plus(POSITION_READ_MARGIN))
              : null;
    } catch (PayrelayException e) {
      if (e.category() != Category.FATAL) {
        throw e;
      }
      // As if there were none: the whole outbox is compared.
      unreadable = "the position's record cannot be read: another program's";
    }
    Instant doneUntil = doneUntil(stored, options, RelayRecovery.databaseTime(connection));
    return new RecoveryFacts(
        stored,
        slot,
        new DatabaseIdentity(
            server.systemId(),
            server.timeline(),
            clusterId,
            SlotFacts.publicationIdentity(connection, config.publicationName())),
        unreadable != null ? unreadable : cause(connection, config, stored, clusterId, history),
        doneUntil,
        doneUntil == null ? null : doneUntil.minus(options.longestTransaction()),
        activeOwner(connection, config.slotName()));
  }

  /** The position, or null where there is none. */
  @Nullable Position position() {
    return stored == null ? null : stored.position();
  }

  /** From when on Kafka's records are compared. */
  @Nullable Instant kafkaFrom() {
    return bound == null ? null : bound.minus(CLOCK_MARGIN);
  }

  /**
   * Whether a row created then can only have committed after the position, so that no relay has
   * ever published it. Only in the same WAL and the same cluster does the position say so.
   */
  boolean neverPublished(long createdUsec) {
    Position position = position();
    return position != null
        && position.commitTimeUsec() > 0
        && position.origin().systemId().equals(origin.systemId())
        && position.origin().kafkaClusterId().equals(origin.kafkaClusterId())
        && instant(createdUsec)
            .isAfter(instant(position.commitTimeUsec()).plus(1, ChronoUnit.MINUTES));
  }

  static Instant instant(long usec) {
    return Instant.EPOCH.plus(usec, ChronoUnit.MICROS);
  }

  private static @Nullable Instant doneUntil(
      PositionStore.@Nullable Stored stored, RecoveryOptions options, Instant now) {
    if (options.since() != null) {
      return options.since();
    }
    if (stored == null || stored.position().commitTimeUsec() == 0) {
      return null;
    }
    Instant committed = instant(stored.position().commitTimeUsec());
    // Of a time when the database's clock was ahead: rows since then would all lie before it.
    return committed.isAfter(now.plus(CLOCK_MARGIN)) ? null : committed;
  }

  private static @Nullable String cause(
      Connection connection,
      RelayConfig config,
      PositionStore.@Nullable Stored stored,
      String clusterId,
      TimelineHistory.Source history) {
    if (stored != null && stored.recovering()) {
      return "a recovery was begun and not finished";
    }
    try {
      var unused =
          StartupCheck.all(
              connection, config, stored == null ? null : stored.position(), clusterId, history);
      return null;
    } catch (PayrelayException e) {
      if (e.category() != Category.FATAL) {
        throw e;
      }
      return String.valueOf(e.getMessage())
          .replaceAll("[;:] run `payrelay [^;]*(; where that refuses.*)?$", "");
    }
  }

  private static @Nullable String activeOwner(Connection connection, String slotName)
      throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(
            """
            SELECT owner FROM payrelay.relay_owner
            WHERE slot_name = ? AND lease_until > clock_timestamp()
            """)) {
      statement.setString(1, slotName);
      try (ResultSet rows = statement.executeQuery()) {
        return rows.next() ? rows.getString(1) : null;
      }
    }
  }
}
