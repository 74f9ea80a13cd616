package io.payrelay.chargeworker;

import io.payrelay.platform.lifecycle.Worker;
import io.payrelay.schemas.Topic;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Accepts charge and refund requests: one transaction a poll, then the offsets, up to the first
 * record that is not finished. What fails is kept and tried again while its partitions pause, so
 * the group stays as it is however long the database is away. Belongs to one thread.
 */
final class ChargeConsumer implements Worker, ConsumerRebalanceListener, AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(ChargeConsumer.class);

  /** How long a poll may wait: as long as a stop may take at least. */
  private static final long POLL_MS_MAX = 100;

  /**
   * Records whose payments are not visible or held; beyond it something is wrong and reading waits.
   */
  private static final int WAITING_MAX = 10_000;

  private final Consumer<byte[], byte[]> consumer;
  private final RecordReader reader;
  private final Requests requests;
  private final DeadLetters deadLetters;
  private final ChargeMetrics metrics;
  private final InstantSource clock;
  private final Duration notVisibleLimit;
  private final Runnable accepted;
  private final Map<TopicPartition, PartitionProgress> progress = new HashMap<>();
  private final List<Waiting> waiting = new ArrayList<>();
  private List<Received> batch = new ArrayList<>();

  private record Waiting(Received received, long dueMs) {}

  private record SetAside(Received received, String reason) {}

  /**
   * A consumer that subscribes at once.
   *
   * @param accepted called when there may be new operations
   */
  ChargeConsumer(
      Consumer<byte[], byte[]> consumer,
      RecordReader reader,
      Requests requests,
      DeadLetters deadLetters,
      ChargeMetrics metrics,
      InstantSource clock,
      Duration notVisibleLimit,
      Runnable accepted) {
    this.consumer = consumer;
    this.reader = reader;
    this.requests = requests;
    this.deadLetters = deadLetters;
    this.metrics = metrics;
    this.clock = clock;
    this.notVisibleLimit = notVisibleLimit;
    this.accepted = accepted;
    consumer.subscribe(List.of(Topic.CHARGE_REQUESTS, Topic.REFUND_REQUESTS), this);
  }

  @Override
  public int runOnce() {
    poll();
    takeDue();
    if (batch.isEmpty()) {
      // What could not be committed, as while the group rebalances: nothing more may come.
      commit(progress.keySet());
      return 0;
    }
    int count = batch.size();
    // Throws where the database is away: then the batch is still there.
    List<Verdict> verdicts = accept();
    List<SetAside> setAside = setAside(verdicts);
    setAside.forEach(one -> deadLetters.add(one.received().source(), one.reason()));
    deadLetters.flush();
    finish(verdicts, setAside);
    accepted.run();
    commit(progress.keySet());
    return count;
  }

  @Override
  public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
    try {
      commit(partitions);
    } catch (KafkaException e) {
      // The next owner reads some records again, which is harmless.
      log.info("offsets of revoked partitions not committed reason={}", e.getClass().getName());
    }
    forget(partitions);
  }

  @Override
  public void onPartitionsLost(Collection<TopicPartition> partitions) {
    forget(partitions);
  }

  @Override
  public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
    log.info("partitions assigned count={}", partitions.size());
  }

  @Override
  public void close() {
    consumer.close();
    deadLetters.close();
  }

  private void poll() {
    long nowMs = clock.millis();
    if (!batch.isEmpty() || waiting.size() >= WAITING_MAX) {
      // Polling all the same is what keeps us in the group.
      consumer.pause(consumer.assignment());
    } else if (!consumer.paused().isEmpty()) {
      consumer.resume(consumer.paused());
    }
    long waitMs = batch.isEmpty() ? POLL_MS_MAX : 0;
    for (Waiting one : waiting) {
      waitMs = Math.min(waitMs, Math.max(0, one.dueMs() - nowMs));
    }
    for (ConsumerRecord<byte[], byte[]> source : consumer.poll(Duration.ofMillis(waitMs))) {
      Received received = reader.read(source, clock.millis());
      progress
          .computeIfAbsent(received.partition(), partition -> new PartitionProgress())
          .polled(source.offset());
      batch.add(received);
    }
  }

  private void takeDue() {
    long nowMs = clock.millis();
    Iterator<Waiting> each = waiting.iterator();
    while (each.hasNext()) {
      Waiting one = each.next();
      if (one.dueMs() <= nowMs) {
        batch.add(one.received());
        each.remove();
      }
    }
  }

  /** A verdict for each readable record of the batch, in order. */
  private List<Verdict> accept() {
    List<Trigger> triggers = new ArrayList<>(batch.size());
    for (Received received : batch) {
      Trigger trigger = received.trigger();
      if (trigger != null) {
        triggers.add(trigger);
      }
    }
    return triggers.isEmpty() ? List.of() : requests.accept(triggers);
  }

  private List<SetAside> setAside(List<Verdict> verdicts) {
    List<SetAside> setAside = new ArrayList<>();
    Iterator<Verdict> next = verdicts.iterator();
    for (Received received : batch) {
      String reason =
          received.trigger() == null ? received.problem() : reason(received, next.next());
      if (reason != null) {
        setAside.add(new SetAside(received, reason));
      }
    }
    return setAside;
  }

  private @Nullable String reason(Received received, Verdict verdict) {
    return switch (verdict) {
      // One that is held waits for as long as it takes: there is nothing wrong with it.
      case DONE, REFUSED, HELD -> null;
      case REJECTED -> "what it leads to is refused by adapter or database";
      case NOT_VISIBLE ->
          clock.millis() - received.firstSeenMs() < notVisibleLimit.toMillis()
              ? null
              : "there is no such "
                  + (received.source().topic().equals(Topic.REFUND_REQUESTS)
                      ? "refund"
                      : "payment");
    };
  }

  private void finish(List<Verdict> verdicts, List<SetAside> setAside) {
    Map<Received, String> reasons = new HashMap<>();
    setAside.forEach(one -> reasons.put(one.received(), one.reason()));
    Iterator<Verdict> next = verdicts.iterator();
    for (Received received : batch) {
      Verdict verdict = received.trigger() == null ? null : next.next();
      boolean later = verdict == Verdict.NOT_VISIBLE || verdict == Verdict.HELD;
      if (later && !reasons.containsKey(received)) {
        waiting.add(new Waiting(received.triedAgain(), clock.millis() + received.pauseMs()));
        continue;
      }
      PartitionProgress of = progress.get(received.partition());
      if (of != null) {
        of.finished(received.source().offset());
      }
    }
    batch = new ArrayList<>();
    reasons.forEach(
        (received, reason) ->
            log.error(
                "request set aside topic={} partition={} offset={} reason=\"{}\"",
                received.source().topic(),
                received.source().partition(),
                received.source().offset(),
                reason));
    metrics.deadLetters(setAside.size());
  }

  private void commit(Collection<TopicPartition> partitions) {
    Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
    for (TopicPartition partition : partitions) {
      PartitionProgress of = progress.get(partition);
      if (of != null && of.hasNews()) {
        offsets.put(partition, new OffsetAndMetadata(of.watermark()));
      }
    }
    if (offsets.isEmpty()) {
      return;
    }
    consumer.commitSync(offsets);
    offsets.forEach(
        (partition, offset) -> {
          PartitionProgress of = progress.get(partition);
          if (of != null) {
            of.committed(offset.offset());
          }
        });
  }

  private void forget(Collection<TopicPartition> partitions) {
    partitions.forEach(progress::remove);
    waiting.removeIf(one -> partitions.contains(one.received().partition()));
    batch.removeIf(received -> partitions.contains(received.partition()));
  }
}
