package io.payrelay.relay;

import io.debezium.embedded.Connect;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.RecordChangeEvent;
import io.debezium.engine.format.ChangeEventFormat;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.schemas.Topic;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.connect.source.SourceRecord;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One life of producer and engine, from fencing to the first error, on a thread of its own. Never
 * used again after it has ended. The supervising thread starts, watches and closes it.
 */
final class RelaySession implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(RelaySession.class);

  private static final Duration POSITION_READ_MARGIN = Duration.ofSeconds(15);
  private static final Duration CHECK_LIMIT = Duration.ofSeconds(30);
  private static final Duration BATCH_END_LIMIT = Duration.ofSeconds(5);
  private static final Duration END_LIMIT = Duration.ofSeconds(40);
  private static final Duration PRODUCER_CLOSE_LIMIT = Duration.ofSeconds(3);
  private static final long JOIN_STEP_MS = 50;

  private final RelayParts parts;
  private final String seedId = UUID.randomUUID().toString();
  private final CompletableFuture<Void> ended = new CompletableFuture<>();
  private final AtomicReference<@Nullable Throwable> engineError = new AtomicReference<>();
  private final Thread thread;
  private volatile @Nullable KafkaProducer<byte[], byte[]> producer;
  private volatile @Nullable BatchPublisher publisher;
  private volatile @Nullable DebeziumEngine<RecordChangeEvent<SourceRecord>> engine;
  private volatile boolean closing;

  RelaySession(RelayParts parts) {
    this.parts = parts;
    this.thread = new Thread(this::run, "payrelay-relay-session");
  }

  void start() {
    thread.start();
  }

  /** Completes when it has ended; exceptionally unless it was closed. */
  CompletableFuture<Void> ended() {
    return ended;
  }

  /** True from the first batch on; heartbeats count, so an idle outbox does not delay it. */
  boolean active() {
    BatchPublisher current = publisher;
    return current != null && current.batches() > 0;
  }

  /** How long the engine has delivered nothing; zero while it starts. */
  Duration silence() {
    BatchPublisher current = publisher;
    return current == null ? Duration.ZERO : current.silence();
  }

  /** Whether a batch is on its way to Kafka. */
  boolean publishing() {
    BatchPublisher current = publisher;
    return current != null && current.publishing();
  }

  /** Records out of PostgreSQL's stream so far. */
  long streamed() {
    BatchPublisher current = publisher;
    return current == null ? 0 : current.streamed();
  }

  /** What Kafka holds, once that is known. */
  @Nullable Position stored() {
    BatchPublisher current = publisher;
    return current == null ? null : current.stored();
  }

  /** Ends in order: the running batch is finished first. */
  @Override
  public void close() {
    BatchPublisher current = publisher;
    closing = true;
    if (current != null && !current.stop(BATCH_END_LIMIT)) {
      log.warn("slot={} batch does not end: giving it up", parts.config().slotName());
    }
    end();
  }

  /** Ends at once: what is open in Kafka is left to the next owner's fencing. */
  void abandon() {
    closing = true;
    end();
  }

  private void end() {
    BatchPublisher current = publisher;
    KafkaProducer<byte[], byte[]> currentProducer = producer;
    if (currentProducer != null && (current == null || !current.stop(Duration.ZERO))) {
      // Frees a thread that waits for Kafka inside a batch or in initTransactions.
      currentProducer.close(Duration.ZERO);
    }
    if (current == null) {
      // It waits for Kafka or the database before there is an engine to be closed.
      thread.interrupt();
    }
    long deadlineNs = System.nanoTime() + END_LIMIT.toNanos();
    boolean engineClosed = false;
    try {
      while (thread.isAlive()) {
        if (System.nanoTime() > deadlineNs) {
          throw new PayrelayException(
              Category.FATAL, "The engine does not end: restart the process");
        }
        engineClosed = engineClosed || closeEngine();
        thread.join(JOIN_STEP_MS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private boolean closeEngine() {
    DebeziumEngine<RecordChangeEvent<SourceRecord>> current = engine;
    if (current == null) {
      return false;
    }
    try {
      current.close();
      return true;
    } catch (IllegalStateException e) {
      // It refuses while its tasks start, and when it is ending already: ask again.
      return false;
    } catch (IOException e) {
      log.debug("slot={} engine could not be closed", parts.config().slotName(), e);
      return true;
    }
  }

  private void run() {
    try {
      stream();
      RuntimeException failure = whyEnded();
      if (failure == null) {
        ended.complete(null);
      } else {
        ended.completeExceptionally(failure);
      }
    } catch (RuntimeException e) {
      ended.completeExceptionally(e);
    } catch (Error e) {
      ended.completeExceptionally(e);
      throw e;
    } finally {
      SeededOffsetStore.forget(seedId);
    }
  }

  /** Steps 1 to 6 of the recipe: fence, read the position, check, seed, stream. */
  private void stream() {
    RelayConfig config = parts.config();
    Map<String, Object> adminProperties = parts.kafka().clientProperties("payrelay-relay-admin");
    PositionStore store = new PositionStore(parts.kafka(), config.slotName());
    Map<String, Integer> recordBytesMax;
    try (Admin admin = Admin.create(adminProperties)) {
      recordBytesMax =
          Topics.recordBytesMax(
              admin,
              Topics.all(parts.catalogue(), config.slotName()).stream().map(Topic::name).toList());
      belongsHere(admin, store);
    }
    // Before the fencing: a registry that does not answer must not throw out who works.
    RecordFactory factory =
        new RecordFactory(parts.framing().codec(), recordBytesMax, parts.refusedEventIds());
    parts.faults().reached(RelayFaults.Point.BEFORE_FENCING);
    KafkaProducer<byte[], byte[]> made =
        RelayProducer.make(parts.kafka(), config, factory.largestRecordBytes());
    try {
      producer = made;
      made.initTransactions();
      Position start = checkedPosition(store, adminProperties);
      BatchPublisher batches =
          new BatchPublisher(
              new BatchPublisher.Parts(
                  made,
                  factory,
                  store,
                  parts.metrics(),
                  parts.faults(),
                  parts.clock(),
                  parts.refusedEventIds(),
                  config.batchSizeMax()),
              start);
      publisher = batches;
      SeededOffsetStore.register(seedId, () -> batches.confirmable().commitLsn());
      log.info("slot={} streaming from {}", config.slotName(), start);
      runEngine(batches);
    } finally {
      // The interrupt of end() has done its work, and close() would stumble over it.
      boolean unused = Thread.interrupted();
      // Aborts what is open, if Kafka answers; if not, the next owner's fencing does.
      made.close(PRODUCER_CLOSE_LIMIT);
    }
  }

  /** Also before the fencing: a relay with wrong settings must not throw out the one with right. */
  private void belongsHere(Admin admin, PositionStore store) {
    RelayConfig config = parts.config();
    try (Connection connection =
        DatabaseConnection.open(parts.database(), "payrelay-relay-check", CHECK_LIMIT)) {
      StartupCheck.eventTypes(connection, parts.catalogue());
      OtherSlots.refuseActive(connection, admin, config.slotName());
      StartupCheck.beforeFencing(
          connection,
          config,
          store.newestCommitted(admin, POSITION_READ_MARGIN),
          Futures.get(admin.describeCluster().clusterId()));
    } catch (SQLException e) {
      throw StartupCheck.failed("The slot could not be checked", e);
    }
  }

  private Position checkedPosition(PositionStore store, Map<String, Object> adminProperties) {
    RelayConfig config = parts.config();
    Position read;
    String clusterId;
    try (Admin admin = Admin.create(adminProperties)) {
      new HangingTransactions(admin, config.transactionalId(), store, parts.clock())
          .end(Topics.all(parts.catalogue(), config.slotName()).stream().map(Topic::name).toList());
      read = store.read(admin, config.transactionTimeout().plus(POSITION_READ_MARGIN));
      clusterId = Futures.get(admin.describeCluster().clusterId());
    }
    try (Connection connection =
        DatabaseConnection.open(parts.database(), "payrelay-relay-check", CHECK_LIMIT)) {
      Position checked =
          StartupCheck.all(
              connection,
              config,
              read,
              clusterId,
              timeline -> ReplicationCommands.timelineHistory(parts.database(), timeline));
      SlotCreation.ensureFailover(connection, parts.database(), config);
      return checked;
    } catch (SQLException e) {
      throw StartupCheck.failed("The slot could not be checked", e);
    }
  }

  private void runEngine(BatchPublisher batches) {
    DebeziumEngine<RecordChangeEvent<SourceRecord>> made =
        DebeziumEngine.create(ChangeEventFormat.of(Connect.class))
            .using(EngineSettings.of(parts.database(), parts.config(), seedId))
            .using(
                (DebeziumEngine.CompletionCallback)
                    (success, message, error) -> {
                      if (!success) {
                        engineError.set(error == null ? new IllegalStateException(message) : error);
                      }
                    })
            .notifying(batches)
            .build();
    engine = made;
    if (!closing) {
      made.run();
    }
  }

  /** The publisher's own failure says more than what the engine made of it. */
  private @Nullable RuntimeException whyEnded() {
    BatchPublisher current = publisher;
    RuntimeException published = current == null ? null : current.failure();
    if (published != null) {
      return published;
    }
    Throwable error = engineError.get();
    if (error != null) {
      return new PayrelayException(Category.RETRIABLE, "The replication stream ended", error);
    }
    return closing
        ? null
        : new PayrelayException(Category.RETRIABLE, "The engine ended without a word");
  }
}
