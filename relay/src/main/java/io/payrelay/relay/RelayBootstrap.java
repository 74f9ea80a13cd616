package io.payrelay.relay;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.Migrations;
import io.payrelay.schemas.Topic;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Optional;
import java.util.function.Consumer;
import javax.sql.DataSource;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.jspecify.annotations.Nullable;

/**
 * What {@code migrate} does: tables, publication, slot, topics, first position, and last the
 * upstreams' rights to insert, so that no event can be written that no relay will read. It can be
 * run again after a crash at any point and never overwrites a position. One run at a time, held by
 * an advisory lock; not for concurrent use of one object.
 */
public final class RelayBootstrap {

  private static final Duration READ_LIMIT = Duration.ofSeconds(60);

  private static final String NEEDS =
      "the user that runs `payrelay migrate` must own the database and what is in schema payrelay,"
          + " have the attribute REPLICATION, and CREATEROLE unless the group roles are there already"
          + " (docs/relay.md, Roles and privileges)";

  /** What a run has just finished; tests end it there. */
  enum Step {
    TABLES,
    PUBLICATION,
    SLOT,
    TOPICS,
    POSITION,
    GRANTS
  }

  private final DataSource owner;
  private final KafkaConfig kafka;
  private final RelayConfig config;
  private final EventCatalogue catalogue;
  private final Consumer<Step> finished;

  /**
   * Prepares a run.
   *
   * @param owner connections as the owner of the schema, with attribute REPLICATION
   */
  public RelayBootstrap(
      DataSource owner, KafkaConfig kafka, RelayConfig config, EventCatalogue catalogue) {
    this(owner, kafka, config, catalogue, step -> {});
  }

  RelayBootstrap(
      DataSource owner,
      KafkaConfig kafka,
      RelayConfig config,
      EventCatalogue catalogue,
      Consumer<Step> finished) {
    this.owner = owner;
    this.kafka = kafka;
    this.config = config;
    this.catalogue = catalogue;
    this.finished = finished;
  }

  /**
   * Applies the migrations, then does the rest.
   *
   * @throws PayrelayException FATAL where slot and position do not belong together
   */
  public void run() {
    requireServer();
    try {
      Migrations.migrate(owner, catalogue);
    } catch (SQLException e) {
      throw StartupCheck.failed("The tables could not be made", e, NEEDS);
    }
    finished.accept(Step.TABLES);
    try (Connection connection = owner.getConnection();
        Admin admin = Admin.create(kafka.clientProperties("payrelay-migrate"))) {
      // In auto-commit: creating a slot waits for every open transaction, ours included.
      connection.setAutoCommit(true);
      execute(connection, "SELECT pg_advisory_lock(hashtext('payrelay.bootstrap'))");
      try {
        afterTables(connection, admin);
      } finally {
        // The connection may go back to a pool and would keep the lock.
        execute(connection, "SELECT pg_advisory_unlock(hashtext('payrelay.bootstrap'))");
      }
    } catch (SQLException e) {
      throw StartupCheck.failed("The relay could not be prepared", e, NEEDS);
    }
  }

  /** Before anything is made. */
  private void requireServer() {
    try (Connection connection = owner.getConnection()) {
      StartupCheck.version(connection.getMetaData().getDatabaseMajorVersion());
      StartupCheck.server(SlotFacts.server(connection));
      SlotCreation.requireFailoverSupport(connection, config);
    } catch (SQLException e) {
      throw StartupCheck.failed("The database could not be asked", e, NEEDS);
    }
  }

  private void afterTables(Connection connection, Admin admin) throws SQLException {
    publication(connection);
    finished.accept(Step.PUBLICATION);
    slotAndPosition(connection, admin, SlotFacts.server(connection));
    execute(connection, "SELECT payrelay.open_for_upstreams()");
    finished.accept(Step.GRANTS);
  }

  private void slotAndPosition(Connection connection, Admin admin, SlotFacts.Server server)
      throws SQLException {
    DatabaseIdentity origin =
        new DatabaseIdentity(
            server.systemId(),
            server.timeline(),
            Futures.get(admin.describeCluster().clusterId()),
            SlotFacts.publicationIdentity(connection, config.publicationName()));
    PositionStore store = new PositionStore(kafka, config.slotName());
    Position position =
        Topics.exists(admin, Topic.relayPosition(config.slotName()).name())
            ? store.read(admin, READ_LIMIT)
            : null;
    Optional<SlotFacts.Slot> slot = SlotFacts.slot(connection, config.slotName());
    long startLsn = 0;
    if (position == null) {
      OtherSlots.refuse(connection, admin, config.slotName());
      startLsn = makeSlot(connection, slot);
    } else {
      StartupCheck.origin(server, origin.kafkaClusterId(), position);
      if (slot.isEmpty()) {
        throw gone(position);
      }
      StartupCheck.slot(slot.get(), config.slotName(), position);
    }
    finished.accept(Step.SLOT);
    Topics.ensure(admin, Topics.all(catalogue, config.slotName()));
    finished.accept(Step.TOPICS);
    if (position == null) {
      writeFirst(store, admin, Position.at(startLsn, origin));
    }
    finished.accept(Step.POSITION);
  }

  private PayrelayException gone(Position position) {
    return StartupCheck.refused(
        "Kafka holds a position of slot %s (%s), but the slot is gone: run `payrelay relay recover`"
            .formatted(config.slotName(), position));
  }

  /** A slot whose position is nowhere is of no use: rows written since it was made are unknown. */
  private long makeSlot(Connection connection, Optional<SlotFacts.Slot> old) throws SQLException {
    refuseRows(connection, old.isPresent());
    if (old.isPresent()) {
      if (old.get().active() || !old.get().plugin().equals("pgoutput")) {
        throw StartupCheck.refused(
            "Slot %s is in use or another program's: set PAYRELAY_RELAY_SLOT_NAME, or stop what reads from it"
                .formatted(config.slotName()));
      }
      withSlotName(connection, "SELECT pg_drop_replication_slot(?)");
    }
    long startLsn = SlotCreation.create(connection, config);
    // A row written before the slot's start would never come; the slot waited for open ones.
    refuseRows(connection, true);
    return startLsn;
  }

  private void refuseRows(Connection connection, boolean slotExists) throws SQLException {
    if (SlotFacts.outboxHasRows(connection)) {
      throw StartupCheck.refused(
          "The outbox has rows, and slot %s has %s: nobody can say which rows Kafka holds; run `payrelay relay recover`"
              .formatted(
                  config.slotName(),
                  slotExists ? "no position in Kafka" : "neither a slot nor a position in Kafka"));
    }
  }

  private void writeFirst(PositionStore store, Admin admin, Position first) {
    try (KafkaProducer<byte[], byte[]> producer =
        RelayProducer.make(kafka, config, Topics.RECORD_BYTES_MAX_DEFAULT)) {
      // Ends what a run before left open; only then is "there is none" the last word.
      producer.initTransactions();
      if (store.read(admin, READ_LIMIT) != null) {
        throw new PayrelayException(
            Category.RETRIABLE,
            "Somebody else has just written the position of slot %s: run `payrelay migrate` again"
                .formatted(config.slotName()));
      }
      producer.beginTransaction();
      var unused = producer.send(store.record(first));
      producer.commitTransaction();
    }
  }

  private void publication(Connection connection) throws SQLException {
    String problem = SlotFacts.publicationProblem(connection, config.publicationName());
    if (problem == null) {
      return;
    }
    if (!problem.equals("does not exist")) {
      throw StartupCheck.refused(
          "Publication %s %s: drop it, then run `payrelay migrate` again"
              .formatted(config.publicationName(), problem));
    }
    execute(
        connection,
        """
        CREATE PUBLICATION %s FOR TABLE payrelay.outbox
          (event_id, aggregate_type, aggregate_id, event_type, payload, trace_id, traceparent)
          WITH (publish = 'insert', publish_via_partition_root = true)
        """
            .formatted(config.publicationName()));
  }

  private @Nullable String withSlotName(Connection connection, String sql) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      statement.setString(1, config.slotName());
      try (ResultSet rows = statement.executeQuery()) {
        return rows.next() ? rows.getString(1) : null;
      }
    }
  }

  private static void execute(Connection connection, String sql) throws SQLException {
    try (Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }
}
