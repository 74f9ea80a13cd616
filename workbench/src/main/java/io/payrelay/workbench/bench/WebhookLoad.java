package io.payrelay.workbench.bench;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.io.IOException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import javax.crypto.Mac;

/**
 * Sends webhooks, one thread a connection. At a rate each has its time on a schedule that waits for
 * nothing, and its latency counts from that time: a sender that is held up hides nothing.
 */
final class WebhookLoad {

  private static final Duration LEAD = Duration.ofMillis(500);

  private final WebhookSubject subject;
  private final int port;
  private final int first;
  private final int end;
  private final int[] statuses;
  private final long[] tookNs;
  private final double intervalNs;
  private final long startNs;
  private final AtomicInteger next;

  /**
   * The load.
   *
   * @param ratePerS 0: closed loop
   */
  record Load(int events, int warmUpEvents, int ratePerS, int connections) {
    int total() {
      return events + warmUpEvents;
    }
  }

  /**
   * What came of it.
   *
   * @param webhooksPerS answered 2xx: verified and durable
   * @param latency of those, from the scheduled time at a rate, else from sending
   * @param answers how often each status came
   */
  record Figures(
      int ratePerS,
      double webhooksPerS,
      double seconds,
      Latency.Percentiles latency,
      Map<String, Integer> answers,
      double ingestCpuSecondsPerMillion,
      double postgresCpuSecondsPerMillion,
      double peakMemoryMb,
      int notStored,
      int notConfirmed) {

    /** What was answered 2xx is there, and something was. */
    boolean correct() {
      return notStored == 0 && notConfirmed == 0 && taken() > 0;
    }

    /** Answered 2xx. */
    int taken() {
      return answers.entrySet().stream()
          .filter(answer -> answer.getKey().startsWith("2"))
          .mapToInt(Map.Entry::getValue)
          .sum();
    }

    boolean allTaken() {
      return answers.values().stream().mapToInt(Integer::intValue).sum() == taken();
    }
  }

  private WebhookLoad(
      WebhookSubject subject, int port, Load load, int first, int end, int[] statuses, long[] ns) {
    this.subject = subject;
    this.port = port;
    this.first = first;
    this.end = end;
    this.statuses = statuses;
    this.tookNs = ns;
    this.intervalNs =
        load.ratePerS() == 0 ? 0 : TimeUnit.SECONDS.toNanos(1) / (double) load.ratePerS();
    this.startNs = System.nanoTime() + (load.ratePerS() == 0 ? 0 : LEAD.toNanos());
    this.next = new AtomicInteger(first);
  }

  /** Sends the warm-up, then the load, and holds the database to what was answered. */
  static Figures measure(
      WebhookSubject subject, BenchServers servers, BenchProcess process, Load load) {
    int port = WebhookSubject.port(process);
    int[] statuses = new int[load.total()];
    long[] tookNs = new long[load.total()];
    new WebhookLoad(subject, port, load, 0, load.warmUpEvents(), statuses, tookNs)
        .send(load.connections());
    Duration ingestCpu = process.cpu();
    Duration postgresCpu = servers.postgresCpu();
    WebhookLoad measured =
        new WebhookLoad(subject, port, load, load.warmUpEvents(), load.total(), statuses, tookNs);
    measured.send(load.connections());
    double seconds = (System.nanoTime() - measured.startNs) / 1e9;
    ingestCpu = process.cpu().minus(ingestCpu);
    postgresCpu = servers.postgresCpu().minus(postgresCpu);
    process.requireAlive();

    BitSet answered = new BitSet();
    Map<String, Integer> answers = new TreeMap<>();
    for (int i = 0; i < load.total(); i++) {
      boolean good = statuses[i] / 100 == 2;
      answered.set(i, good);
      answers.merge(statuses[i] == 0 ? "broken off" : "" + statuses[i], 1, Integer::sum);
    }
    BitSet ofLoad = answered.get(load.warmUpEvents(), load.total());
    long[] good = ofLoad.stream().mapToLong(i -> tookNs[load.warmUpEvents() + i]).toArray();
    return new Figures(
        load.ratePerS(),
        good.length / seconds,
        seconds,
        Latency.Percentiles.of(good),
        answers,
        perMillion(ingestCpu, good.length),
        perMillion(postgresCpu, good.length),
        process.peakMemoryMb(),
        missing(answered, subject.stored()),
        missing(answered, subject.confirmed()));
  }

  private static double perMillion(Duration cpu, int events) {
    // Microseconds an event are seconds a million.
    return events == 0 ? 0 : cpu.toNanos() / 1_000.0 / events;
  }

  private static int missing(BitSet answered, BitSet found) {
    BitSet missing = (BitSet) answered.clone();
    missing.andNot(found);
    return missing.cardinality();
  }

  private void send(int connections) {
    List<CompletableFuture<Void>> senders = new ArrayList<>();
    for (int i = 0; i < connections; i++) {
      senders.add(
          CompletableFuture.runAsync(
              this::sendAll, task -> new Thread(task, "bench-sender").start()));
    }
    try {
      CompletableFuture.allOf(senders.toArray(CompletableFuture<?>[]::new)).join();
    } catch (CompletionException e) {
      throw e.getCause() instanceof RuntimeException cause ? cause : e;
    }
  }

  private void sendAll() {
    Mac mac = subject.mac();
    try (KeptConnection connection = new KeptConnection(port)) {
      for (int i = next.getAndIncrement(); i < end; i = next.getAndIncrement()) {
        long fromNs = awaitTurn(i);
        byte[] request = subject.request(i, Instant.now().getEpochSecond(), mac);
        if (intervalNs == 0) {
          fromNs = System.nanoTime();
        }
        statuses[i] = connection.exchange(request);
        tookNs[i] = System.nanoTime() - fromNs;
      }
    } catch (IOException e) {
      // The others end by themselves: there is nothing left for them.
      next.set(end);
      throw new PayrelayException(Category.FATAL, "The ingest cannot be reached", e);
    }
  }

  private long awaitTurn(int place) {
    long atNs = startNs + (long) ((place - first) * intervalNs);
    for (long left = atNs - System.nanoTime();
        left > 0 && intervalNs > 0;
        left = atNs - System.nanoTime()) {
      LockSupport.parkNanos(left);
    }
    return atNs;
  }
}
