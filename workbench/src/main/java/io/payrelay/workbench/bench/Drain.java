package io.payrelay.workbench.bench;

import java.time.Duration;

/** Drains a table that is full, and measures the part after the warm-up. Stateless. */
final class Drain {

  private static final Duration POLL = Duration.ofMillis(20);

  /** So long after the last row a second copy of one may still come. */
  private static final Duration SETTLE = Duration.ofMillis(500);

  private static final Duration STALL_LIMIT = Duration.ofSeconds(90);

  private Drain() {}

  /** How much is drained; the first rows, of the warm-up, are counted but not measured. */
  record Size(int events, int warmUpEvents, int rowsPerTransaction) {
    int total() {
      return events + warmUpEvents;
    }
  }

  /**
   * What came of it.
   *
   * @param cpuSecondsPerMillion CPU seconds of the process for a million events
   * @param peakMemoryMb the most it has had resident, start included; 0: not known
   */
  record Figures(
      String name,
      int events,
      double seconds,
      double rowsPerS,
      double cpuSecondsPerMillion,
      double peakMemoryMb,
      long visible,
      long missing,
      long surplus) {

    boolean correct() {
      return missing == 0 && surplus == 0;
    }
  }

  /** Waits until the started process has made every row visible. */
  static Figures measure(String name, BenchProcess process, VisibleRecords visible, Size size) {
    await(process, visible, size.warmUpEvents());
    int from = visible.distinct();
    long fromNs = System.nanoTime();
    Duration fromCpu = process.cpu();
    await(process, visible, size.total());
    long tookNs = System.nanoTime() - fromNs;
    Duration cpu = process.cpu().minus(fromCpu);
    settle(visible);
    int events = size.total() - from;
    if (events == 0) {
      throw process.failed(
          "had all %d rows visible together with the %d of the warm-up, so that nothing is left to measure: take more --events"
              .formatted(size.total(), size.warmUpEvents()));
    }
    double seconds = tookNs / 1e9;
    return new Figures(
        name,
        events,
        seconds,
        events / seconds,
        cpu.toNanos() / 1e9 / events * 1e6,
        process.peakMemoryMb(),
        visible.records(),
        visible.missing(),
        visible.surplus());
  }

  static void settle(VisibleRecords visible) {
    long endNs = System.nanoTime() + SETTLE.toNanos();
    while (System.nanoTime() - endNs < 0) {
      visible.poll(POLL, place -> {});
    }
  }

  private static void await(BenchProcess process, VisibleRecords visible, int wanted) {
    long lastNs = System.nanoTime();
    int last = visible.distinct();
    while (visible.distinct() < wanted) {
      visible.poll(POLL, place -> {});
      if (visible.distinct() > last) {
        last = visible.distinct();
        lastNs = System.nanoTime();
      } else if (System.nanoTime() - lastNs > STALL_LIMIT.toNanos()) {
        throw process.failed(
            "has brought %d of %d rows and no more for %d s"
                .formatted(last, wanted, STALL_LIMIT.toSeconds()));
      } else {
        process.requireAlive();
      }
    }
  }
}
