package io.payrelay.relay;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.Topic;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.jspecify.annotations.Nullable;

/**
 * What {@code relay recover} does: after a lost slot or position it makes a new slot with its
 * exported snapshot, publishes the rows of that snapshot which Kafka does not hold, and writes the
 * slot's start as the new position in the Kafka transaction of the last rows.
 *
 * <p>It can be run again after a crash at any point. Until that last transaction the old position
 * stays, marked so that no relay starts from it; each run finds the difference anew, and what an
 * earlier run has published is none any more. One run at a time, held by the slot's lease; not for
 * concurrent use of one object.
 */
public final class RelayRecovery {

  /** Marks a record whose row was found in the table, not in the WAL. */
  static final String RECOVERED_HEADER = "payrelay-recovered";

  /** A long scan may need minutes before its first row. */
  static final Duration ANSWER_LIMIT = Duration.ofHours(1);

  private static final Duration STALL_MARGIN = Duration.ofSeconds(15);
  private static final Duration PRODUCER_CLOSE_LIMIT = Duration.ofSeconds(3);
  private static final long LEASE_ASK_NS = TimeUnit.MILLISECONDS.toNanos(200);

  /** Rows whose contents are in memory at one time; each may have 900 kB. */
  private static final int ROWS_READ_MAX = 50;

  private static final long TRANSACTION_BYTES_MAX = 8_000_000;

  /** What a run has just finished; tests end it there. */
  enum Step {
    FENCED,
    COMPARED,
    MARKED,
    DROPPED,
    SLOT_MADE,
    PART_SENT,
    PART_COMMITTED,
    LAST_SENT,
    LAST_COMMITTED
  }

  private final RelayConfig config;
  private final DatabaseConfig database;
  private final KafkaConfig kafka;
  private final EventCatalogue catalogue;
  private final InstantSource clock;
  private final Consumer<String> progress;
  private final Consumer<Step> finished;
  private final PositionStore store;

  /**
   * Prepares a run as the relay's user.
   *
   * @param progress takes a line now and then
   */
  public RelayRecovery(
      RelayConfig config,
      DatabaseConfig database,
      KafkaConfig kafka,
      EventCatalogue catalogue,
      InstantSource clock,
      Consumer<String> progress) {
    this(config, database, kafka, catalogue, clock, progress, step -> {});
  }

  RelayRecovery(
      RelayConfig config,
      DatabaseConfig database,
      KafkaConfig kafka,
      EventCatalogue catalogue,
      InstantSource clock,
      Consumer<String> progress,
      Consumer<Step> finished) {
    this.config = config;
    this.database = database;
    this.kafka = kafka;
    this.catalogue = catalogue;
    this.clock = clock;
    this.progress = progress;
    this.finished = finished;
    this.store = new PositionStore(kafka, config.slotName());
  }

  /**
   * Says what a recovery would do; changes nothing, and a relay at work is not disturbed.
   *
   * @throws PayrelayException where something stands against any recovery
   */
  public RecoveryReport plan(RecoveryOptions options) {
    try (Connection connection = connect();
        Admin admin = Admin.create(kafka.clientProperties("payrelay-recover-admin"))) {
      RecoveryFacts facts =
          RecoveryFacts.ask(connection, admin, store, config, options, this::history);
      // The snapshot first: what a relay publishes meanwhile is then found in Kafka, too.
      OutboxReader.begin(connection, null);
      PublishedEvents published = published(admin, facts);
      RecoveryDifference difference = difference(facts, published, connection);
      return RecoveryText.planned(config.slotName(), options, facts, published, difference);
    } catch (SQLException e) {
      throw StartupCheck.failed("The outbox could not be compared", e);
    }
  }

  /**
   * Recovers.
   *
   * @throws PayrelayException FATAL where a relay is active or rows are doubtful, RETRIABLE where a
   *     server failed: then it can be run again
   */
  public RecoveryReport execute(RecoveryOptions options) {
    String owner = "recover-" + config.instanceName() + "#" + UUID.randomUUID();
    try (SlotLease lease = SlotLease.open(database, config.slotName(), owner, config.lease())) {
      StartupCheck.schema(lease.connection());
      // Both before the lease: its row would stay.
      SlotFacts.slot(lease.connection(), config.slotName())
          .ifPresent(slot -> StartupCheck.ours(slot, config.slotName()));
      try (Admin admin = Admin.create(kafka.clientProperties("payrelay-recover-admin"))) {
        OtherSlots.refuse(lease.connection(), admin, config.slotName());
      }
      acquire(lease);
      lease.endWalsender();
      Waits waits = new Waits(lease, config.slotName(), progress);
      try (LeaseKeeper keeper = new LeaseKeeper(lease, config.leaseRenew(), waits::tell)) {
        keeper.start();
        return execute(options, keeper, waits);
      }
    } catch (SQLException e) {
      throw StartupCheck.failed("The slot could not be recovered", e);
    } catch (KafkaException e) {
      throw RowPublisher.again("payrelay relay recover --execute", e);
    }
  }

  private RecoveryReport execute(RecoveryOptions options, LeaseKeeper keeper, Waits waits)
      throws SQLException {
    Set<String> refusedEventIds = ConcurrentHashMap.newKeySet();
    try (Connection connection = connect();
        Admin admin = Admin.create(kafka.clientProperties("payrelay-recover-admin"))) {
      List<Topic> topics = Topics.all(catalogue, config.slotName());
      // Making and verifying topics takes rights that a relay's user need not have.
      if (!topics.stream().allMatch(topic -> Topics.exists(admin, topic.name()))) {
        Topics.ensure(admin, topics);
      }
      RecordFactory factory = factory(admin, catalogue, config, refusedEventIds);
      KafkaProducer<byte[], byte[]> producer =
          RelayProducer.make(kafka, config, factory.largestRecordBytes());
      try {
        // From here on a relay that only slept can publish nothing.
        producer.initTransactions();
        finished.accept(Step.FENCED);
        RowPublisher publisher =
            new RowPublisher(
                producer,
                factory,
                refusedEventIds,
                new RecordHeader(RECOVERED_HEADER, clock.instant().toString().getBytes(UTF_8)),
                true,
                clock);
        return replace(options, connection, admin, publisher, keeper, waits);
      } finally {
        producer.close(PRODUCER_CLOSE_LIMIT);
      }
    }
  }

  private RecoveryReport replace(
      RecoveryOptions options,
      Connection connection,
      Admin admin,
      RowPublisher publisher,
      LeaseKeeper keeper,
      Waits waits)
      throws SQLException {
    RecoveryFacts facts =
        RecoveryFacts.ask(connection, admin, store, config, options, this::history);
    if (facts.cause() == null && !options.force()) {
      return RecoveryText.nothingToDo(config.slotName(), facts);
    }
    OutboxReader.begin(connection, null);
    PublishedEvents published = published(admin, facts);
    // All that could stand against it is looked at before anything is changed.
    String refusal = difference(facts, published, connection).refusal(options);
    connection.rollback();
    connection.setAutoCommit(true);
    if (refusal != null) {
      throw StartupCheck.refused(refusal);
    }
    finished.accept(Step.COMPARED);
    keeper.check();
    if (facts.stored() != null && !facts.stored().recovering()) {
      publisher.publish(
          List.of(), store.recoveringRecord(facts.stored().position()), keeper::check);
    }
    finished.accept(Step.MARKED);
    RecoverySlot.drop(connection, config.slotName());
    finished.accept(Step.DROPPED);
    // Before the slot's start: what commits after that has no earlier commit time.
    Instant start = databaseTime(connection);
    waits.waiting(true);
    try (RecoverySlot slot = RecoverySlot.make(database, config.slotName())) {
      waits.waiting(false);
      finished.accept(Step.SLOT_MADE);
      RecoveryDifference difference = difference(facts, published, slot.snapshot());
      Position position =
          new Position(
              slot.startLsn(),
              start.getEpochSecond() * 1_000_000 + start.getNano() / 1000,
              0,
              0,
              facts.origin());
      publish(slot, difference.missing(), position, publisher, keeper);
      return RecoveryText.executed(
          config.slotName(), options, facts, published, difference, position);
    } finally {
      waits.waiting(false);
    }
  }

  /** Some transactions of rows; the last one brings the position and ends the recovery. */
  private void publish(
      RecoverySlot slot,
      List<RowRef> missing,
      Position position,
      RowPublisher publisher,
      LeaseKeeper keeper)
      throws SQLException {
    OutboxReader reader = new OutboxReader(slot.snapshot());
    List<OutboxRow> rows = new ArrayList<>();
    long bytes = 0;
    long sent = 0;
    long saidNs = System.nanoTime();
    for (int from = 0; from < missing.size(); from += ROWS_READ_MAX) {
      List<RowRef> refs = missing.subList(from, Math.min(missing.size(), from + ROWS_READ_MAX));
      for (OutboxRow row : reader.rows(refs, position.commitLsn())) {
        rows.add(row);
        bytes += row.payload().length();
      }
      boolean full = rows.size() >= config.batchSizeMax() || bytes >= TRANSACTION_BYTES_MAX;
      if (full && from + ROWS_READ_MAX < missing.size()) {
        publisher.publish(
            rows,
            null,
            () -> {
              finished.accept(Step.PART_SENT);
              keeper.check();
            });
        finished.accept(Step.PART_COMMITTED);
        sent += rows.size();
        rows.clear();
        bytes = 0;
        if (System.nanoTime() - saidNs > TimeUnit.SECONDS.toNanos(5)) {
          saidNs = System.nanoTime();
          progress.accept("published %,d of %,d rows".formatted(sent, missing.size()));
        }
      }
    }
    publisher.publish(
        rows,
        store.record(position),
        () -> {
          finished.accept(Step.LAST_SENT);
          keeper.check();
        });
    finished.accept(Step.LAST_COMMITTED);
  }

  private RecoveryDifference difference(
      RecoveryFacts facts, PublishedEvents published, Connection snapshot) throws SQLException {
    long missingMax = Runtime.getRuntime().maxMemory() / 3 / RowRef.BYTES;
    return new RecoveryDifference(facts, published, catalogue, missingMax)
        .compare(new OutboxReader(snapshot), progress);
  }

  private PublishedEvents published(Admin admin, RecoveryFacts facts) {
    List<Topic> topics = new ArrayList<>(Topics.all(catalogue, config.slotName()));
    topics.remove(Topic.relayPosition(config.slotName()));
    return PublishedEvents.read(
        admin,
        new PublishedEvents.Reading(
            kafka,
            topics,
            config.transactionTimeout().plus(STALL_MARGIN),
            Runtime.getRuntime().maxMemory() / 3 / EventIds.BYTES_PER_ID,
            progress),
        facts.kafkaFrom());
  }

  /** Records as the stream makes them. */
  static RecordFactory factory(
      Admin admin, EventCatalogue catalogue, RelayConfig config, Set<String> refusedEventIds) {
    List<String> topics =
        Topics.all(catalogue, config.slotName()).stream()
            .map(Topic::name)
            .filter(name -> !name.startsWith(Topic.RELAY_POSITION_PREFIX))
            .toList();
    return new RecordFactory(
        new Framing(config.framing(), catalogue).codec(),
        Topics.recordBytesMax(admin, topics),
        refusedEventIds);
  }

  /** A relay that ends, or starts and refuses again and again, lets go of it for moments. */
  private void acquire(SlotLease lease) throws SQLException {
    long deadlineNs = System.nanoTime() + 2 * config.lease().toNanos();
    while (!lease.acquire()) {
      if (System.nanoTime() > deadlineNs) {
        throw StartupCheck.refused(
            "A relay is active on slot %s (%s): stop all relays of the slot, then run `payrelay relay recover --execute` again"
                .formatted(config.slotName(), owner(lease.connection())));
      }
      LockSupport.parkNanos(LEASE_ASK_NS);
      if (Thread.currentThread().isInterrupted()) {
        throw new PayrelayException(Category.RETRIABLE, "Interrupted while waiting for the lease");
      }
    }
  }

  private String owner(Connection connection) throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement("SELECT owner FROM payrelay.relay_owner WHERE slot_name = ?")) {
      statement.setString(1, config.slotName());
      try (ResultSet rows = statement.executeQuery()) {
        return rows.next() ? rows.getString(1) : "unknown";
      }
    }
  }

  private Connection connect() {
    return DatabaseConnection.open(database, "payrelay-recover", ANSWER_LIMIT);
  }

  static Instant databaseTime(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet rows =
            statement.executeQuery(
                "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")) {
      rows.next();
      return RecoveryFacts.instant(rows.getLong(1));
    }
  }

  /** Says for whom the making of the slot waits. On the lease keeper's thread. */
  private static final class Waits {

    private static final long FIRST_NS = TimeUnit.SECONDS.toNanos(3);

    private final SlotLease lease;
    private final String slotName;
    private final Consumer<String> progress;
    private volatile long sinceNs;
    private volatile boolean waiting;
    private @Nullable String said;

    Waits(SlotLease lease, String slotName, Consumer<String> progress) {
      this.lease = lease;
      this.slotName = slotName;
      this.progress = progress;
    }

    void waiting(boolean begins) {
      sinceNs = System.nanoTime();
      waiting = begins;
    }

    void tell() {
      if (!waiting || System.nanoTime() - sinceNs < FIRST_NS) {
        return;
      }
      try (PreparedStatement statement =
          lease
              .connection()
              .prepareStatement(
                  """
                  SELECT array_to_string(pg_blocking_pids(active_pid), ', ')
                  FROM pg_replication_slots WHERE slot_name = ?
                  """)) {
        statement.setString(1, slotName);
        try (ResultSet rows = statement.executeQuery()) {
          String pids = rows.next() ? rows.getString(1) : null;
          if (pids != null && !pids.isEmpty() && !pids.equals(said)) {
            said = pids;
            progress.accept(
                "the new slot waits for open transactions of other sessions to end: pid " + pids);
          }
        }
      } catch (SQLException e) {
        throw StartupCheck.failed("The waiting sessions could not be read", e);
      }
    }
  }

  private TimelineHistory history(long timeline) {
    return ReplicationCommands.timelineHistory(database, timeline);
  }
}
