package io.payrelay.workbench.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** Collects the figures of all relays and sets ours beside each. Belongs to one thread. */
final class Comparison {

  private final Machine machine;
  private final Drain.Size size;
  private final Latency.Load load;
  private final List<Drain.Figures> drains = new ArrayList<>();
  private final List<Latency.Figures> latencies = new ArrayList<>();
  private long next;

  Comparison(Machine machine, Drain.Size size, Latency.Load load) {
    this.machine = machine;
    this.size = size;
    this.load = load;
  }

  /**
   * Ours beside another, in one run.
   *
   * @param drain our rows/s to its; 0 where it was not measured, as for all
   * @param cpu our CPU seconds per million to its
   * @param p50 our latency to its
   * @param p99 our latency to its
   * @param memory our peak to its
   */
  record Ratios(String to, double drain, double cpu, double p50, double p99, double memory) {}

  /** The report. */
  record Report(
      Machine machine,
      Drain.Size size,
      Latency.Load load,
      List<Drain.Figures> drains,
      List<Latency.Figures> latencies,
      List<Ratios> ratios,
      List<Goals.Goal> goals) {}

  /** Fills the subject's table, drains it, and then measures latency on the same process. */
  void measure(BenchServers servers, Subject subject) {
    try (VisibleRecords visible =
        new VisibleRecords(servers.kafka(), subject.table(), next, size.total())) {
      EventLoad.fill(servers, subject.table(), next, size.total(), size.rowsPerTransaction());
      next += size.total();
      try (BenchProcess process = subject.start()) {
        drains.add(Drain.measure(subject.name(), process, visible, size));
        latencies.add(Latency.measure(subject, servers, process, next, load));
        next += load.total();
      }
    }
  }

  void limit(BareReader reader) {
    drains.add(reader.measure(size));
  }

  boolean oursCorrect() {
    return drains.get(0).correct() && latencies.get(0).correct();
  }

  Report report() {
    return new Report(machine, size, load, drains, latencies, ratios(), goals());
  }

  String text() {
    StringBuilder text = new StringBuilder();
    text.append(Tables.machine(machine));
    text.append(
        String.format(
            Locale.ROOT,
            "%n%nDrain: %d rows in transactions of %d, after %d rows of warm-up.%n%n%s",
            size.events(),
            size.rowsPerTransaction(),
            size.warmUpEvents(),
            Tables.drains(drains)));
    text.append(
        String.format(
            Locale.ROOT,
            "%nLatency: %d/s for %d s, after %d s of warm-up; from the return of COMMIT to visible for a"
                + " read_committed consumer.%n%n%s",
            load.ratePerS(),
            load.seconds(),
            load.warmUpS(),
            Tables.latencies(latencies)));
    text.append(
        String.format(
            Locale.ROOT,
            "%n| %s to                  | drain | CPU | p50 | p99 | memory |%n|---|---:|---:|---:|---:|---:|%n",
            PayrelaySubject.NAME));
    for (Ratios one : ratios()) {
      text.append(
          String.format(
              Locale.ROOT,
              "| %-28s | %s | %s | %s | %s | %s |%n",
              one.to(),
              ratio(one.drain()),
              ratio(one.cpu()),
              ratio(one.p50()),
              ratio(one.p99()),
              ratio(one.memory())));
    }
    text.append('\n').append(Goals.text(goals()));
    return text.toString();
  }

  private List<Goals.Goal> goals() {
    return Goals.of(drains, latencies);
  }

  private List<Ratios> ratios() {
    Drain.Figures ours = drains.get(0);
    Latency.Figures oursLatency = latencies.get(0);
    List<Ratios> ratios = new ArrayList<>();
    for (Drain.Figures other : drains.subList(1, drains.size())) {
      Latency.Percentiles percentiles =
          latencies.stream()
              .filter(one -> one.name().equals(other.name()))
              .map(Latency.Figures::afterCommit)
              .findAny()
              .orElse(new Latency.Percentiles(0, 0, 0, 0));
      ratios.add(
          new Ratios(
              other.name(),
              divide(ours.rowsPerS(), other.rowsPerS()),
              divide(ours.cpuSecondsPerMillion(), other.cpuSecondsPerMillion()),
              divide(oursLatency.afterCommit().p50Ms(), percentiles.p50Ms()),
              divide(oursLatency.afterCommit().p99Ms(), percentiles.p99Ms()),
              divide(ours.peakMemoryMb(), other.peakMemoryMb())));
    }
    return ratios;
  }

  private static double divide(double ours, double other) {
    return other == 0 ? 0 : ours / other;
  }

  private static String ratio(double value) {
    return value == 0 ? "-" : String.format(Locale.ROOT, "%.2f", value);
  }
}
