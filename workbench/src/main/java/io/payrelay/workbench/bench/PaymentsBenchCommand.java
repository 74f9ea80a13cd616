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

/** How many payments go through the whole system, and how long one takes. */
@Command(
    name = "payments",
    mixinStandardHelpOptions = true,
    description =
        "Runs relay, charge worker, webhook ingest, provider, PostgreSQL and Kafka on this machine, each in a process"
            + " of its own, requests payments by SQL as fast as they go through, and measures from each commit to the"
            + " moment a read_committed consumer has the payment's last status. Exits 1 if a payment was charged"
            + " twice, was lost or ended twice.")
@SuppressWarnings("NullAway.Init") // picocli injects.
final class PaymentsBenchCommand implements Callable<Integer> {

  private static final double GOAL_PER_S = 1000;
  private static final int LATENCY_MS_MAX = 60_000;

  @Spec private CommandSpec spec;
  @Mixin private BenchOptions options;

  @Option(
      names = "--payments",
      paramLabel = "N",
      defaultValue = "30000",
      description = "payments that are measured (${DEFAULT-VALUE})")
  private int payments;

  @Option(
      names = "--warm-up-payments",
      paramLabel = "W",
      defaultValue = "10000",
      description = "payments before those, while the JVMs compile (${DEFAULT-VALUE})")
  private int warmUpPayments;

  @Option(
      names = "--provider-latency-ms",
      paramLabel = "L",
      defaultValue = "50",
      description = "how long each answer of the provider takes (${DEFAULT-VALUE})")
  private int providerLatencyMs;

  @Option(
      names = "--outstanding",
      paramLabel = "M",
      defaultValue = "400",
      description =
          "payments on their way at a time: the next is requested when one has ended (${DEFAULT-VALUE})")
  private int outstanding;

  @Option(
      names = "--worker-java-options",
      paramLabel = "TEXT",
      defaultValue = "",
      description = "further options for the charge worker's JVM, for example a flight recording")
  private String workerJavaOptions;

  /** The report. */
  record Report(
      Machine machine,
      int providerLatencyMs,
      PaymentFlow.Size size,
      PaymentFlow.Figures figures,
      List<Goals.Goal> goals) {}

  @Override
  public Integer call() {
    PaymentFlow.Size size = options.payments(payments, warmUpPayments, outstanding);
    options.check("--provider-latency-ms", providerLatencyMs, 0, LATENCY_MS_MAX);
    options.checkReport();
    Machine machine = Machine.now();
    List<String> java =
        workerJavaOptions.isBlank() ? List.of() : List.of(workerJavaOptions.trim().split(" +", -1));
    try (BenchServers servers = BenchServers.start();
        PaymentParts parts = PaymentParts.start(servers, providerLatencyMs, java)) {
      PaymentFlow.Figures figures = new PaymentFlow(servers, parts, size).measure();
      Report report =
          new Report(
              machine,
              providerLatencyMs,
              size,
              figures,
              List.of(
                  new Goals.Goal(
                      "payments a second",
                      ">= " + GOAL_PER_S,
                      figures.paymentsPerS(),
                      figures.paymentsPerS() >= GOAL_PER_S)));
      print(report);
      Tables.write(options.report(), report);
      return figures.correct() ? 0 : 1;
    }
  }

  private void print(Report report) {
    PrintWriter out = spec.commandLine().getOut();
    PaymentFlow.Figures figures = report.figures();
    out.println(Tables.machine(report.machine()));
    out.printf(
        Locale.ROOT,
        "%d payments, provider latency %d ms, at most %d on their way, after %d payments of warm-up%n%n",
        figures.payments(),
        report.providerLatencyMs(),
        report.size().outstandingMax(),
        report.size().warmUpPayments());
    out.println("| payments/s | p50 ms | p95 ms | p99 ms | max ms | CPU cores |");
    out.println("|-----------:|-------:|-------:|-------:|-------:|----------:|");
    out.printf(
        Locale.ROOT,
        "| %10.0f | %6.0f | %6.0f | %6.0f | %6.0f | %9.2f |%n%n",
        figures.paymentsPerS(),
        figures.latency().p50Ms(),
        figures.latency().p95Ms(),
        figures.latency().p99Ms(),
        figures.latency().maxMs(),
        figures.cpuCores());
    out.println("| process        | CPU s per 1,000 payments |");
    out.println("|----------------|-------------------------:|");
    figures
        .cpuSecondsPer1000()
        .forEach((name, used) -> out.printf(Locale.ROOT, "| %-14s | %24.3f |%n", name, used));
    out.println();
    out.println(Goals.text(report.goals()));
    out.printf(
        Locale.ROOT,
        "missing %d, ended twice %d, not succeeded %d; charges at the provider %d, charged twice %d%n",
        figures.missing(),
        figures.surplus(),
        figures.notSucceeded(),
        figures.providerCharges(),
        figures.chargedTwice());
    out.flush();
  }
}
