package io.payrelay.workbench.bench;

import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.function.IntToLongFunction;

/** From the commit of a row to the moment a read_committed consumer has it. Stateless. */
final class Latency {

  private static final Duration POLL = Duration.ofMillis(100);
  private static final Duration LAST_LIMIT = Duration.ofSeconds(60);

  private Latency() {}

  /** The load; the events of the warm-up are written at the same rate and not measured. */
  record Load(int ratePerS, int seconds, int warmUpS) {
    int warmUpEvents() {
      return ratePerS * warmUpS;
    }

    int total() {
      return ratePerS * (seconds + warmUpS);
    }
  }

  /** Exact: from all values, none put into buckets. */
  record Percentiles(double p50Ms, double p95Ms, double p99Ms, double maxMs) {

    static Percentiles of(long[] nanos) {
      long[] sorted = nanos.clone();
      Arrays.sort(sorted);
      return new Percentiles(at(sorted, 0.5), at(sorted, 0.95), at(sorted, 0.99), at(sorted, 1.0));
    }

    private static double at(long[] sorted, double share) {
      int place = Math.max(0, (int) Math.ceil(share * sorted.length) - 1);
      return sorted.length == 0 ? 0 : sorted[place] / 1e6;
    }
  }

  /**
   * What came of it.
   *
   * @param afterCommit from the return of COMMIT to visible: the figure of the goals
   * @param beforeCommit from just before COMMIT was sent, so with the database's own flush in it
   * @param fromSchedule from when the event was due, so with everything that held it up
   * @param latestStartMs how late an event was begun at most; large: the load was not the rate
   */
  record Figures(
      String name,
      int ratePerS,
      int seconds,
      int events,
      Percentiles afterCommit,
      Percentiles beforeCommit,
      Percentiles fromSchedule,
      double latestStartMs,
      double cpuCores,
      double peakMemoryMb,
      long missing,
      long surplus) {

    boolean correct() {
      return missing == 0 && surplus == 0;
    }
  }

  /** Writes the load while the process relays it. */
  static Figures measure(
      Subject subject, BenchServers servers, BenchProcess process, long first, Load load) {
    long[] visibleNs = new long[load.total()];
    try (VisibleRecords visible =
        new VisibleRecords(servers.kafka(), subject.table(), first, load.total())) {
      OpenLoopWriters writers =
          OpenLoopWriters.start(servers, subject.table(), first, load.total(), load.ratePerS());
      Duration fromCpu = Duration.ZERO;
      long fromNs = 0;
      long lastNs = System.nanoTime();
      while (visible.distinct() < load.total()
          && (!writers.ended() || System.nanoTime() - lastNs < LAST_LIMIT.toNanos())) {
        int before = visible.distinct();
        visible.poll(POLL, place -> visibleNs[(int) place] = System.nanoTime());
        if (fromNs == 0 && visible.distinct() >= load.warmUpEvents()) {
          fromCpu = process.cpu();
          fromNs = System.nanoTime();
        }
        lastNs = visible.distinct() > before ? System.nanoTime() : lastNs;
        process.requireAlive();
      }
      double cpuCores =
          process.cpu().minus(fromCpu).toNanos() / (double) (System.nanoTime() - fromNs);
      writers.join();
      Drain.settle(visible);
      return figures(subject, process, load, writers, visible, visibleNs, cpuCores);
    }
  }

  private static Figures figures(
      Subject subject,
      BenchProcess process,
      Load load,
      OpenLoopWriters writers,
      VisibleRecords visible,
      long[] visibleNs,
      double cpuCores) {
    long latest = 0;
    for (int place = load.warmUpEvents(); place < load.total(); place++) {
      latest = Math.max(latest, writers.begunNs(place) - writers.scheduledNs(place));
    }
    return new Figures(
        subject.name(),
        load.ratePerS(),
        load.seconds(),
        load.total() - load.warmUpEvents(),
        since(load, visibleNs, writers::committedNs),
        since(load, visibleNs, writers::committingNs),
        since(load, visibleNs, writers::scheduledNs),
        latest / (double) TimeUnit.MILLISECONDS.toNanos(1),
        cpuCores,
        process.peakMemoryMb(),
        visible.missing(),
        visible.surplus());
  }

  private static Percentiles since(Load load, long[] visibleNs, IntToLongFunction from) {
    long[] took = new long[load.total() - load.warmUpEvents()];
    for (int i = 0; i < took.length; i++) {
      int place = load.warmUpEvents() + i;
      // The relay may be quicker than the writer's own answer. One that is missing fails the run.
      took[i] = Math.max(0, visibleNs[place] - from.applyAsLong(place));
    }
    return Percentiles.of(took);
  }
}
