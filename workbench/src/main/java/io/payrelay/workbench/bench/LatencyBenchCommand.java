package io.payrelay.workbench.bench;

import java.io.PrintWriter;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** How soon a committed row is visible to a consumer. */
@Command(
    name = "latency",
    mixinStandardHelpOptions = true,
    description =
        "Writes events at a fixed rate that waits for nothing, one a transaction, and measures from each commit to"
            + " the moment a read_committed consumer has the record. Exits 1 if a row is missing or came twice.")
@SuppressWarnings("NullAway.Init") // picocli injects.
final class LatencyBenchCommand implements Callable<Integer> {

  @Spec private CommandSpec spec;
  @Mixin private BenchOptions options;

  @Option(
      names = "--rate",
      paramLabel = "R",
      defaultValue = "500",
      description = "events a second (${DEFAULT-VALUE})")
  private int rate;

  @Option(
      names = "--seconds",
      paramLabel = "T",
      defaultValue = "60",
      description = "how long is measured (${DEFAULT-VALUE})")
  private int seconds;

  @Option(
      names = "--warm-up-seconds",
      paramLabel = "W",
      defaultValue = "120",
      description =
          "the same load before that, not measured: at 500/s the JIT compilers take two minutes to"
              + " rest (${DEFAULT-VALUE})")
  private int warmUpSeconds;

  /** The report. */
  record Report(Machine machine, Latency.Load load, Latency.Figures relay) {}

  @Override
  public Integer call() {
    Latency.Load load = options.load(rate, seconds, warmUpSeconds);
    options.checkReport();
    Machine machine = Machine.now();
    try (BenchServers servers = BenchServers.start()) {
      Subject relay = new PayrelaySubject(servers, options.javaOptions());
      relay.prepare();
      Report report;
      try (BenchProcess process = relay.start()) {
        report = new Report(machine, load, Latency.measure(relay, servers, process, 0, load));
      }
      print(report);
      Tables.write(options.report(), report);
      return report.relay().correct() ? 0 : 1;
    }
  }

  private void print(Report report) {
    PrintWriter out = spec.commandLine().getOut();
    out.println(Tables.machine(report.machine()));
    out.printf(
        Locale.ROOT,
        "%d events at %d/s, after %d s of warm-up; from the return of COMMIT to visible%n%n",
        report.relay().events(),
        report.load().ratePerS(),
        report.load().warmUpS());
    out.println(Tables.latencies(List.of(report.relay())));
    out.printf(
        Locale.ROOT,
        "missing %d, twice %d; an event was begun %.1f ms late at most%n",
        report.relay().missing(),
        report.relay().surplus(),
        report.relay().latestStartMs());
    out.flush();
  }
}
