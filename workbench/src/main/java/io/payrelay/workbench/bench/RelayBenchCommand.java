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

/** How fast the relay drains an outbox, beside the fastest that can be. */
@Command(
    name = "relay",
    mixinStandardHelpOptions = true,
    description =
        "Fills the outbox while no relay runs, then measures how fast the relay drains it, and how fast a reader"
            + " that does nothing reads the same from a second slot. Exits 1 if a row is missing or came twice.")
@SuppressWarnings("NullAway.Init") // picocli injects.
final class RelayBenchCommand implements Callable<Integer> {

  @Spec private CommandSpec spec;
  @Mixin private BenchOptions options;

  @Option(
      names = "--events",
      paramLabel = "N",
      defaultValue = "300000",
      description = "rows that are measured (${DEFAULT-VALUE})")
  private int events;

  @Option(
      names = "--warm-up-events",
      paramLabel = "W",
      defaultValue = "150000",
      description = "rows that are drained before those, while the JVM compiles (${DEFAULT-VALUE})")
  private int warmUpEvents;

  @Option(
      names = "--rows-per-transaction",
      paramLabel = "R",
      defaultValue = "1",
      description = "(${DEFAULT-VALUE})")
  private int rowsPerTransaction;

  /** The report. */
  record Report(
      Machine machine,
      Drain.Size size,
      Drain.Figures relay,
      Drain.Figures limit,
      double relayToLimit) {}

  @Override
  public Integer call() {
    Drain.Size size = options.size(events, warmUpEvents, rowsPerTransaction);
    options.checkReport();
    Machine machine = Machine.now();
    try (BenchServers servers = BenchServers.start()) {
      Subject relay = new PayrelaySubject(servers, options.javaOptions());
      BareReader limit = new BareReader(servers);
      relay.prepare();
      limit.prepare();
      Drain.Figures drained;
      try (VisibleRecords visible =
          new VisibleRecords(servers.kafka(), relay.table(), 0, size.total())) {
        EventLoad.fill(servers, relay.table(), 0, size.total(), size.rowsPerTransaction());
        try (BenchProcess process = relay.start()) {
          drained = Drain.measure(relay.name(), process, visible, size);
        }
      }
      Drain.Figures bare = limit.measure(size);
      Report report =
          new Report(machine, size, drained, bare, drained.rowsPerS() / bare.rowsPerS());
      print(report);
      Tables.write(options.report(), report);
      return drained.correct() ? 0 : 1;
    }
  }

  private void print(Report report) {
    PrintWriter out = spec.commandLine().getOut();
    out.println(Tables.machine(report.machine()));
    out.printf(
        Locale.ROOT,
        "%d rows in transactions of %d, after %d rows of warm-up%n%n",
        report.size().events(),
        report.size().rowsPerTransaction(),
        report.size().warmUpEvents());
    out.println(Tables.drains(List.of(report.relay(), report.limit())));
    out.printf(Locale.ROOT, "relay to limit: %.2f%n", report.relayToLimit());
    out.flush();
  }
}
