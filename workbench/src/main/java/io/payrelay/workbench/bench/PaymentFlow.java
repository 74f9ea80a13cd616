package io.payrelay.workbench.bench;

import com.fasterxml.jackson.databind.JsonNode;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.kafka.HeaderValues;
import io.payrelay.schemas.EncodingException;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.EventCodec;
import io.payrelay.schemas.Topic;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.BitSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.jspecify.annotations.Nullable;

/**
 * Requests payments by SQL as fast as they go through, and watches the status topic for their ends:
 * so many are on their way at a time, and the next one is requested when one of them has ended.
 * Belongs to one thread, which watches; the sessions that request have their own.
 */
final class PaymentFlow {

  private static final int SESSIONS = 4;
  private static final Duration POLL = Duration.ofMillis(20);
  private static final long SETTLE_NS = 500_000_000L;
  private static final long STALL_LIMIT_NS = 90_000_000_000L;
  private static final String REQUEST =
      "SELECT payrelay.request_payment(?, 'bench-shop', ?, 'simulator', 1250, 'EUR', trace_id => ?)";

  private final BenchServers servers;
  private final PaymentParts parts;
  private final Size size;
  private final EventCodec codec = new EventCodec(EventCatalogue.builtIn());
  private final Semaphore room;
  private final AtomicInteger next = new AtomicInteger();
  private final long[] committedNs;
  private final long[] endedNs;
  private final BitSet ended;
  private volatile @Nullable SQLException failure;
  private long succeeded;
  private long surplus;

  /** How much is sent; the first payments, of the warm-up, are counted but not measured. */
  record Size(int payments, int warmUpPayments, int outstandingMax) {
    int total() {
      return payments + warmUpPayments;
    }
  }

  /**
   * What came of it.
   *
   * @param latency from the return of the request's COMMIT to its last status event in the hands of
   *     a read_committed consumer
   * @param cpuSecondsPer1000 by process, for a thousand payments
   * @param cpuCores of all of them together
   * @param surplus ends beyond the first of a payment
   * @param providerCharges by the provider's own count
   */
  record Figures(
      int payments,
      double seconds,
      double paymentsPerS,
      Latency.Percentiles latency,
      Map<String, Double> cpuSecondsPer1000,
      double cpuCores,
      long missing,
      long surplus,
      long notSucceeded,
      long providerCharges,
      long chargedTwice) {

    /** Each payment charged once, and one end of each. */
    boolean correct() {
      return missing == 0 && surplus == 0 && notSucceeded == 0 && chargedTwice == 0;
    }
  }

  PaymentFlow(BenchServers servers, PaymentParts parts, Size size) {
    this.servers = servers;
    this.parts = parts;
    this.size = size;
    this.room = new Semaphore(size.outstandingMax());
    this.committedNs = new long[size.total()];
    this.endedNs = new long[size.total()];
    this.ended = new BitSet(size.total());
  }

  Figures measure() {
    Map<String, Object> properties = servers.kafka().consumerProperties("payrelay-bench");
    properties.put(ConsumerConfig.MAX_POLL_RECORDS_CONFIG, 10_000);
    try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties)) {
      List<TopicPartition> partitions =
          consumer.partitionsFor(Topic.PAYMENT_STATUS).stream()
              .map(info -> new TopicPartition(info.topic(), info.partition()))
              .toList();
      consumer.assign(partitions);
      consumer.seekToEnd(partitions);
      partitions.forEach(consumer::position);
      for (int i = 0; i < SESSIONS; i++) {
        Thread session = new Thread(this::request, "bench-session-" + i);
        session.setDaemon(true);
        session.start();
      }
      await(consumer, size.warmUpPayments());
      int from = ended.cardinality();
      long fromNs = System.nanoTime();
      Map<String, Duration> fromCpu = parts.cpu();
      await(consumer, size.total());
      long tookNs = System.nanoTime() - fromNs;
      Map<String, Duration> cpu = parts.cpu();
      long settleNs = System.nanoTime() + SETTLE_NS;
      while (System.nanoTime() - settleNs < 0) {
        poll(consumer);
      }
      return figures(size.total() - from, tookNs, fromCpu, cpu);
    }
  }

  private Figures figures(
      int payments, long tookNs, Map<String, Duration> fromCpu, Map<String, Duration> cpu) {
    Map<String, Double> cpuSeconds = new LinkedHashMap<>();
    double total = 0;
    for (Map.Entry<String, Duration> process : cpu.entrySet()) {
      double used =
          process.getValue().minus(fromCpu.getOrDefault(process.getKey(), Duration.ZERO)).toNanos()
              / 1e9;
      total += used;
      cpuSeconds.put(process.getKey(), used / payments * 1000);
    }
    cpuSeconds.put("all", total / payments * 1000);
    long[] latencies = new long[size.payments()];
    for (int i = 0; i < latencies.length; i++) {
      int place = size.warmUpPayments() + i;
      latencies[i] = Math.max(0, endedNs[place] - committedNs[place]);
    }
    JsonNode stats = parts.providerStats();
    return new Figures(
        payments,
        tookNs / 1e9,
        payments / (tookNs / 1e9),
        Latency.Percentiles.of(latencies),
        cpuSeconds,
        total / (tookNs / 1e9),
        size.total() - (long) ended.cardinality(),
        surplus,
        size.total() - succeeded,
        stats.path("charges").asLong(-1),
        stats.path("ids_charged_twice").asLong(-1));
  }

  private void await(KafkaConsumer<byte[], byte[]> consumer, int wanted) {
    long lastNs = System.nanoTime();
    int last = ended.cardinality();
    while (ended.cardinality() < wanted) {
      poll(consumer);
      SQLException refused = failure;
      if (refused != null) {
        throw new PayrelayException(Category.FATAL, "A payment cannot be requested", refused);
      }
      parts.requireAlive();
      if (ended.cardinality() > last) {
        last = ended.cardinality();
        lastNs = System.nanoTime();
      } else if (System.nanoTime() - lastNs > STALL_LIMIT_NS) {
        throw new PayrelayException(
            Category.FATAL,
            "%d of %d payments have ended, and none for %d s"
                .formatted(last, wanted, STALL_LIMIT_NS / 1_000_000_000L));
      }
    }
  }

  private void poll(KafkaConsumer<byte[], byte[]> consumer) {
    for (ConsumerRecord<byte[], byte[]> source : consumer.poll(POLL)) {
      GenericRecord event;
      try {
        event =
            codec.decode(
                source.value(), HeaderValues.last(source.headers(), EventCodec.DATA_SCHEMA));
      } catch (EncodingException e) {
        throw new PayrelayException(Category.FATAL, "A status event cannot be read", e);
      }
      String status = event.get("status").toString();
      if (status.equals("SUCCEEDED") || status.equals("FAILED")) {
        end(event.get("payment_id").toString(), status.equals("SUCCEEDED"));
      }
    }
  }

  private void end(String paymentId, boolean success) {
    int place = Integer.parseInt(paymentId.substring(paymentId.indexOf('_') + 1));
    if (ended.get(place)) {
      surplus++;
      return;
    }
    ended.set(place);
    endedNs[place] = System.nanoTime();
    succeeded += success ? 1 : 0;
    room.release();
  }

  private void request() {
    try (Connection connection = servers.connect(PaymentParts.SHOP_USER);
        PreparedStatement request = connection.prepareStatement(REQUEST)) {
      for (int place = next.getAndIncrement();
          place < size.total();
          place = next.getAndIncrement()) {
        room.acquire();
        String id = String.format(Locale.ROOT, "bench_%08d", place);
        request.setString(1, id);
        request.setString(2, id);
        request.setString(3, id);
        request.execute();
        committedNs[place] = System.nanoTime();
      }
    } catch (SQLException e) {
      failure = e;
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
