package io.payrelay.chargeworker;

import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.platform.lifecycle.Backoff;
import io.payrelay.platform.lifecycle.Worker;
import io.payrelay.platform.lifecycle.WorkerLoop;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.BiConsumer;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A running charge worker: consumer, dispatcher, writer and sweep, each on a thread of its own.
 * Safe for any thread.
 */
public final class ChargeWorker implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(ChargeWorker.class);

  private static final Duration BACKOFF_FIRST = Duration.ofMillis(50);

  /** Far below the time after which Kafka would take the partitions away. */
  private static final Duration BACKOFF_MAX = Duration.ofSeconds(2);

  /** How long a step that does not call anybody may take to end. */
  private static final Duration STEP_LIMIT = Duration.ofSeconds(5);

  /** Some ten seconds of backoff: longer than a failover of the database that goes well. */
  private static final int FAILURES_MAX = 15;

  private static final int POLL_RECORDS_MAX = 500;

  private final ChargeConfig config;
  private final List<ProviderLane> lanes = new ArrayList<>();
  private final ChargeConsumer consumer;
  private final OutcomeWriter writer;
  private final Map<String, WorkerLoop> loops = new LinkedHashMap<>();
  private volatile @Nullable WorkerLoop dispatcherLoop;
  private volatile @Nullable WorkerLoop writerLoop;

  private ChargeWorker(ChargeConfig config, ChargeDependencies with) {
    this.config = config;
    String owner = owner(config, with);
    with.providers()
        .forEach(provider -> lanes.add(new ProviderLane(provider, config, owner, with.random())));
    ChargeMetrics metrics = new ChargeMetrics(with.registry(), lanes);
    Acceptance acceptance =
        new Acceptance(with.jdbi(), with.providers(), with.clock(), with.faults());
    RefundAcceptance refunds =
        new RefundAcceptance(with.jdbi(), with.providers(), with.clock(), with.faults());
    Runnable accepted = () -> wake(dispatcherLoop);
    writer = new OutcomeWriter(with.jdbi(), metrics, with.clock(), with.faults(), accepted);
    metrics.held(writer::heldCount);
    Dispatcher dispatcher =
        new Dispatcher(
            with.jdbi(),
            lanes,
            config,
            with.faults(),
            outcome -> {
              writer.add(outcome);
              wake(writerLoop);
            },
            writer::stuck,
            metrics);
    consumer =
        new ChargeConsumer(
            new KafkaConsumer<>(consumerProperties(config, with.kafka(), owner)),
            new RecordReader(with.catalogue()),
            new Requests(acceptance, refunds),
            new DeadLetters(() -> producer(with.kafka(), owner)),
            metrics,
            with.clock(),
            config.notVisibleLimit(),
            accepted);
    Sweep sweep = new Sweep(with.jdbi(), acceptance, refunds, config, metrics, accepted);
    Backoff backoff = new Backoff(BACKOFF_FIRST, BACKOFF_MAX, with.random());
    BiConsumer<String, Map.Entry<Worker, Duration>> start =
        (name, worker) ->
            loops.put(
                name,
                WorkerLoop.start(
                    "charge-" + name, worker.getKey(), worker.getValue(), backoff, STEP_LIMIT));
    start.accept("writer", Map.entry(writer, config.pollInterval()));
    start.accept("dispatcher", Map.entry(dispatcher, config.pollInterval()));
    writerLoop = loop("writer");
    dispatcherLoop = loop("dispatcher");
    // The consumer waits in its own poll.
    start.accept("consumer", Map.entry(consumer, Duration.ZERO));
    start.accept("sweep", Map.entry(sweep, config.sweepInterval()));
    log.info("charge worker started instance={} providers={}", owner, lanes.size());
  }

  /** Starts a worker; it works when this returns. */
  public static ChargeWorker start(ChargeConfig config, ChargeDependencies with) {
    return new ChargeWorker(config, with);
  }

  /** {@code ok}, or what has stopped or does not get on. */
  public String health() {
    for (Map.Entry<String, WorkerLoop> loop : loops.entrySet()) {
      if (loop.getValue().ended().isDone()) {
        return loop.getKey() + " has stopped";
      }
      int failures = loop.getValue().consecutiveFailures();
      if (failures >= FAILURES_MAX) {
        return loop.getKey() + " has failed " + failures + " times in a row";
      }
    }
    return "ok";
  }

  /** Completes when one of the loops has ended; exceptionally where by a fatal failure. */
  public CompletableFuture<Object> ended() {
    return CompletableFuture.anyOf(
        loops.values().stream().map(WorkerLoop::ended).toArray(CompletableFuture[]::new));
  }

  /** Calls that are claimed and not yet written. */
  public int inFlight() {
    return lanes.stream().mapToInt(lane -> lane.inFlight().count()).sum();
  }

  /**
   * Stops accepting and claiming, waits for the calls in flight for as long as the stop limit, and
   * writes their outcomes. What is still out then is taken up by others when its lease is over.
   */
  @Override
  public void close() {
    loop("consumer").close();
    loop("sweep").close();
    loop("dispatcher").close();
    long untilNs = System.nanoTime() + config.stopLimit().toNanos();
    for (ProviderLane lane : lanes) {
      Duration left = Duration.ofNanos(Math.max(0, untilNs - System.nanoTime()));
      if (!lane.inFlight().awaitEmpty(left)) {
        log.warn(
            "stopping with calls in flight provider={} count={}: their leases will end",
            lane.provider().name(),
            lane.inFlight().count());
      }
    }
    loop("writer").close();
    if (loop("writer").ended().isDone()) {
      letGoOfAll();
    } else {
      log.error(
          "the writer has not ended in time: answers without their end count={} waiting={}: their leases will end",
          inFlight(),
          writer.heldCount());
    }
    consumer.close();
    log.info("charge worker stopped");
  }

  private void letGoOfAll() {
    try {
      writer.letGoOfAll();
    } catch (RuntimeException e) {
      log.warn("what was answered for held payments is not written: their leases will end", e);
    }
  }

  /** Null only while the worker is being made: the loop looks by itself when it starts. */
  private static void wake(@Nullable WorkerLoop loop) {
    if (loop != null) {
      loop.wake();
    }
  }

  private WorkerLoop loop(String name) {
    WorkerLoop loop = loops.get(name);
    if (loop == null) {
      throw new IllegalStateException("no loop " + name);
    }
    return loop;
  }

  private static String owner(ChargeConfig config, ChargeDependencies with) {
    return config.instance().isEmpty()
        ? "charge-worker-" + Long.toHexString(with.random().nextLong())
        : config.instance();
  }

  private static Map<String, Object> consumerProperties(
      ChargeConfig config, KafkaConfig kafka, String owner) {
    Map<String, Object> properties = new HashMap<>(kafka.consumerProperties(owner));
    properties.put(ConsumerConfig.GROUP_ID_CONFIG, config.groupId());
    properties.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
    properties.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, POLL_RECORDS_MAX);
    properties.put(
        ConsumerConfig.PARTITION_ASSIGNMENT_STRATEGY_CONFIG,
        List.of(CooperativeStickyAssignor.class.getName()));
    return properties;
  }

  private static Producer<byte[], byte[]> producer(KafkaConfig kafka, String owner) {
    Map<String, Object> properties = new HashMap<>(kafka.clientProperties(owner));
    properties.put(ProducerConfig.ACKS_CONFIG, "all");
    properties.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, true);
    return new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer());
  }
}
