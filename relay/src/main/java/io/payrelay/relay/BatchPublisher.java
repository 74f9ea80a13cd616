package io.payrelay.relay;

import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.RecordChangeEvent;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.connect.source.SourceRecord;
import org.jspecify.annotations.Nullable;

/**
 * Takes the engine's batches: rows and position go into one Kafka transaction, and only once that
 * is committed do memory, engine and slot learn of it. The engine's thread calls {@link
 * #handleBatch}; the rest is safe for any thread.
 *
 * <p>Any failure leaves the object of no further use: what it knows may be behind Kafka, never
 * ahead of it, and a new session reads the position again.
 */
final class BatchPublisher
    implements DebeziumEngine.ChangeConsumer<RecordChangeEvent<SourceRecord>> {

  /** An idle outbox costs one small transaction in this time. */
  private static final long IDLE_WRITE_NS = TimeUnit.SECONDS.toNanos(1);

  private final Producer<byte[], byte[]> producer;
  private final RecordFactory factory;
  private final PositionStore store;
  private final PositionTracker tracker;
  private final RelayMetrics metrics;
  private final RelayFaults faults;
  private final InstantSource clock;
  private final Set<String> refusedEventIds;
  private final int batchSizeMax;
  private final ReentrantLock batchLock = new ReentrantLock();
  private final AtomicReference<@Nullable RuntimeException> failure = new AtomicReference<>();
  private volatile Position stored;
  private volatile Position confirmable;
  private volatile long lastCallNs = System.nanoTime();
  private final AtomicLong batches = new AtomicLong();
  private final AtomicLong streamed = new AtomicLong();
  private volatile boolean closing;
  private long lastWriteNs = System.nanoTime();
  private boolean inTransaction;

  /** What a session's parts are. */
  record Parts(
      Producer<byte[], byte[]> producer,
      RecordFactory factory,
      PositionStore store,
      RelayMetrics metrics,
      RelayFaults faults,
      InstantSource clock,
      Set<String> refusedEventIds,
      int batchSizeMax) {}

  BatchPublisher(Parts parts, Position start) {
    this.producer = parts.producer();
    this.factory = parts.factory();
    this.store = parts.store();
    this.metrics = parts.metrics();
    this.faults = parts.faults();
    this.clock = parts.clock();
    this.refusedEventIds = parts.refusedEventIds();
    this.batchSizeMax = parts.batchSizeMax();
    this.tracker = new PositionTracker(start);
    this.stored = start;
    this.confirmable = start;
  }

  /** The position that Kafka holds. */
  Position stored() {
    return stored;
  }

  /**
   * The slot may be confirmed up to its commit LSN. It is the position before the stored one: the
   * coordinator has let a new transaction begin since, so Kafka had ended the older one, whereas
   * the newest commit was acknowledged only and may yet come to nothing ({@link
   * HangingTransactions}).
   */
  Position confirmable() {
    return confirmable;
  }

  /** How long ago the engine last delivered something; heartbeats come also when idle. */
  Duration silence() {
    return Duration.ofNanos(System.nanoTime() - lastCallNs);
  }

  /** Batches taken so far. */
  long batches() {
    return batches.get();
  }

  /** Whether a batch is on its way to Kafka. */
  boolean publishing() {
    return batchLock.isLocked();
  }

  /** Records that PostgreSQL sent, rows and messages: heartbeats are the engine's own. */
  long streamed() {
    return streamed.get();
  }

  /** Why publishing stopped, if it did. */
  @Nullable RuntimeException failure() {
    return failure.get();
  }

  /** Lets the running batch end, for that long, and takes no other. */
  boolean stop(Duration limit) {
    closing = true;
    try {
      if (batchLock.tryLock(limit.toMillis(), TimeUnit.MILLISECONDS)) {
        batchLock.unlock();
        return true;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return false;
  }

  @Override
  public void handleBatch(
      List<RecordChangeEvent<SourceRecord>> batch,
      DebeziumEngine.RecordCommitter<RecordChangeEvent<SourceRecord>> committer)
      throws InterruptedException {
    long begunNs = System.nanoTime();
    long pauseNs = 0;
    lastCallNs = begunNs;
    batchLock.lock();
    try {
      if (closing || failure.get() != null || batch.isEmpty()) {
        return;
      }
      long ageNs = publish(batch);
      batches.incrementAndGet();
      // The last one is enough. What is marked is confirmed to the slot with what the offset store
      // says, which is the confirmable position: hence only after the commit above.
      committer.markProcessed(batch.get(batch.size() - 1));
      committer.markBatchFinished();
      pauseNs = Pace.pauseNs(batch.size(), batchSizeMax, ageNs, System.nanoTime() - begunNs);
      metrics.progressed();
    } catch (RuntimeException e) {
      failure.compareAndSet(null, e);
      if (inTransaction) {
        metrics.transactionAborted();
      }
      // Never Connect's RetriableException: the engine would go on with the next batch.
      throw new PayrelayException(Category.RETRIABLE, "The batch was not published", e);
    } finally {
      lastCallNs = System.nanoTime();
      batchLock.unlock();
    }
    if (pauseNs > 0 && !closing) {
      LockSupport.parkNanos(pauseNs);
    }
  }

  /** Returns how long ago the first row was committed; 0 where there is none to publish. */
  private long publish(List<RecordChangeEvent<SourceRecord>> batch) {
    long nowNs = TimeUnit.MILLISECONDS.toNanos(clock.millis());
    long ageNs = 0;
    BatchCount count = new BatchCount();
    for (RecordChangeEvent<SourceRecord> event : batch) {
      OutboxRow row = track(event.record());
      if (row == null) {
        continue;
      }
      if (count.rows() == 0) {
        begin();
        faults.reached(RelayFaults.Point.AFTER_BEGIN);
        ageNs = nowNs - TimeUnit.MICROSECONDS.toNanos(row.commitTimeUsec());
      }
      count.add(row, send(row));
    }
    if (count.rows() == 0) {
      storeIdlePosition();
      return 0;
    }
    faults.reached(RelayFaults.Point.AFTER_SENDS);
    commit();
    metrics.published(
        count,
        Duration.ofNanos(
            TimeUnit.MILLISECONDS.toNanos(clock.millis()) - count.oldestCommitUsec() * 1000));
    return ageNs;
  }

  /** The row to publish, or null where the record is none or Kafka has it. */
  private @Nullable OutboxRow track(SourceRecord record) {
    long lsnCommit = EngineRecord.number(record, "lsn_commit");
    long timeUsec = EngineRecord.number(record, "ts_usec");
    long txId = EngineRecord.number(record, "txId");
    EngineRecord.Kind kind = EngineRecord.kind(record);
    if (kind != EngineRecord.Kind.HEARTBEAT) {
      streamed.incrementAndGet();
    }
    switch (kind) {
      case HEARTBEAT -> tracker.heartbeat(EngineRecord.messageType(record), lsnCommit, timeUsec);
      case MESSAGE -> {
        // A message outside any transaction says nothing about the order of commits.
        if (txId > 0) {
          tracker.message(txId, lsnCommit, timeUsec);
        }
      }
      case ROW -> {
        if (tracker.row(txId, EngineRecord.number(record, "lsn"), lsnCommit, timeUsec)) {
          return EngineRecord.row(record);
        }
      }
    }
    return null;
  }

  /** Returns why it became a dead letter; null where it did not. */
  private @Nullable String send(OutboxRow row) {
    RecordFactory.Outgoing outgoing = factory.of(row, clock.millis());
    var unused =
        producer.send(
            outgoing.record(),
            (metadata, error) -> {
              // The commit will fail by itself; the next session must not run into it again.
              if (error instanceof RecordTooLargeException) {
                RecordFactory.refused(refusedEventIds, row.eventId(), outgoing);
              }
            });
    return outgoing.deadLetterCode();
  }

  /**
   * Without rows the position is written now and then only. In between it is ahead in memory, but
   * the slot is confirmed behind the stored one, so nothing is lost by waiting.
   */
  private void storeIdlePosition() {
    boolean moved = tracker.position().commitLsn() != stored.commitLsn();
    if (moved && System.nanoTime() - lastWriteNs >= IDLE_WRITE_NS) {
      begin();
      commit();
    }
  }

  private void begin() {
    producer.beginTransaction();
    inTransaction = true;
  }

  private void commit() {
    Position next = tracker.position();
    var unused = producer.send(store.record(next));
    faults.reached(RelayFaults.Point.BEFORE_COMMIT);
    producer.commitTransaction();
    inTransaction = false;
    faults.reached(RelayFaults.Point.AFTER_COMMIT);
    metrics.transactionCommitted();
    confirmable = stored;
    stored = next;
    lastWriteNs = System.nanoTime();
  }
}
