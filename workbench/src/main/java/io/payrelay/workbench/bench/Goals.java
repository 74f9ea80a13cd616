package io.payrelay.workbench.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/** What the relay is meant to reach, beside what it reached in one comparison. Pure. */
final class Goals {

  private static final double DRAIN_TO_PEER = 2.0;
  private static final double DRAIN_TO_LIMIT = 0.9;
  private static final double P50_MS = 8;
  private static final double P99_MS = 40;
  private static final double PEAK_MB = 400;
  private static final double WEBHOOKS_PER_S = 3_000;
  private static final double WEBHOOK_P99_MS = 50;

  private Goals() {}

  /** One of them. */
  record Goal(String what, String goal, double measured, boolean met) {}

  /**
   * Holds ours, the first of each list, against the goals and against the best of the others.
   *
   * @param latencies without the bare reader, which has none
   */
  static List<Goal> of(List<Drain.Figures> drains, List<Latency.Figures> latencies) {
    Drain.Figures ours = drains.get(0);
    Latency.Percentiles latency = latencies.get(0).afterCommit();
    double peakMb = Math.max(ours.peakMemoryMb(), latencies.get(0).peakMemoryMb());
    List<Goal> goals = new ArrayList<>();
    double limit = 0;
    double peer = 0;
    for (Drain.Figures other : drains.subList(1, drains.size())) {
      if (other.name().equals(BareReader.NAME)) {
        limit = other.rowsPerS();
      } else {
        peer = Math.max(peer, other.rowsPerS());
      }
    }
    goals.add(atLeast("drain to Debezium Server's best", DRAIN_TO_PEER, ours.rowsPerS() / peer));
    goals.add(atLeast("drain to a bare reader's", DRAIN_TO_LIMIT, ours.rowsPerS() / limit));
    goals.add(atMost("latency p50, ms", P50_MS, latency.p50Ms()));
    goals.add(atMost("latency p99, ms", P99_MS, latency.p99Ms()));
    List<Latency.Figures> others = latencies.subList(1, latencies.size());
    if (!others.isEmpty()) {
      double p50 = others.stream().mapToDouble(one -> one.afterCommit().p50Ms()).min().orElse(0);
      double p99 = others.stream().mapToDouble(one -> one.afterCommit().p99Ms()).min().orElse(0);
      goals.add(atMost("p50 to Debezium Server's best", 1, latency.p50Ms() / p50));
      goals.add(atMost("p99 to Debezium Server's best", 1, latency.p99Ms() / p99));
    }
    goals.add(atMost("peak memory, MB", PEAK_MB, peakMb));
    return goals;
  }

  /** Of the webhook ingest: how many as fast as it goes, or how soon at a rate. */
  static Goal of(WebhookLoad.Figures figures) {
    if (figures.ratePerS() == 0) {
      return atLeast("webhooks/s", WEBHOOKS_PER_S, figures.webhooksPerS());
    }
    Goal soon =
        atMost(
            "p99 at %d/s, ms".formatted(figures.ratePerS()),
            WEBHOOK_P99_MS,
            figures.latency().p99Ms());
    // What was refused has no latency: it must not make the others look good.
    return new Goal(soon.what(), soon.goal(), soon.measured(), soon.met() && figures.allTaken());
  }

  static String text(List<Goal> goals) {
    StringBuilder text = new StringBuilder();
    text.append("| goal                             |          | measured |        |\n");
    text.append("|----------------------------------|---------:|---------:|--------|\n");
    for (Goal one : goals) {
      text.append(
          String.format(
              Locale.ROOT,
              "| %-32s | %8s | %8.2f | %-6s |%n",
              one.what(),
              one.goal(),
              one.measured(),
              one.met() ? "met" : "MISSED"));
    }
    return text.toString();
  }

  private static Goal atLeast(String what, double goal, double measured) {
    return new Goal(what, ">= " + goal, measured, measured >= goal);
  }

  private static Goal atMost(String what, double goal, double measured) {
    return new Goal(what, "<= " + goal, measured, measured <= goal);
  }
}
