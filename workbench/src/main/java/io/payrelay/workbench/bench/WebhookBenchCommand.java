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

/** How many webhooks are verified and durable in a second, and how soon they are answered. */
@Command(
    name = "webhooks",
    mixinStandardHelpOptions = true,
    description =
        "Sends signed webhooks of pending payments to a webhook-ingest of its own over kept-alive HTTP connections;"
            + " each confirms its payment. Exits 1 if an event that was answered 2xx is not stored, or its payment"
            + " not confirmed, booked and told of.")
@SuppressWarnings("NullAway.Init") // picocli injects.
final class WebhookBenchCommand implements Callable<Integer> {

  @Spec private CommandSpec spec;
  @Mixin private BenchOptions options;

  @Option(
      names = "--events",
      paramLabel = "N",
      defaultValue = "60000",
      description = "webhooks that are measured (${DEFAULT-VALUE})")
  private int events;

  @Option(
      names = "--rate",
      paramLabel = "R",
      defaultValue = "0",
      description =
          "webhooks a second, on a schedule that waits for nothing; 0: each connection sends its next one when"
              + " the last is answered (${DEFAULT-VALUE})")
  private int rate;

  @Option(
      names = "--warm-up-events",
      paramLabel = "W",
      defaultValue = "30000",
      description = "webhooks before those, in the same way, not measured (${DEFAULT-VALUE})")
  private int warmUpEvents;

  @Option(
      names = "--connections",
      paramLabel = "C",
      defaultValue = "128",
      description = "kept-alive connections of the sender (${DEFAULT-VALUE})")
  private int connections;

  /** The report. */
  record Report(
      Machine machine, WebhookLoad.Load load, WebhookLoad.Figures webhooks, Goals.Goal goal) {}

  @Override
  public Integer call() {
    WebhookLoad.Load load = options.webhooks(events, warmUpEvents, rate, connections);
    options.checkReport();
    Machine machine = Machine.now();
    try (BenchServers servers = BenchServers.start()) {
      WebhookSubject subject = new WebhookSubject(servers, options.javaOptions());
      subject.prepare(load.total());
      WebhookLoad.Figures figures;
      try (BenchProcess process = subject.start()) {
        figures = WebhookLoad.measure(subject, servers, process, load);
      }
      Report report = new Report(machine, load, figures, Goals.of(figures));
      print(report);
      Tables.write(options.report(), report);
      return figures.correct() ? 0 : 1;
    }
  }

  private void print(Report report) {
    PrintWriter out = spec.commandLine().getOut();
    out.println(Tables.machine(report.machine()));
    out.printf(
        Locale.ROOT,
        "%d webhooks %s over %d connections, after %d of warm-up%n%n",
        report.load().events(),
        report.load().ratePerS() == 0
            ? "as fast as it goes"
            : "at " + report.load().ratePerS() + "/s",
        report.load().connections(),
        report.load().warmUpEvents());
    out.println(Tables.webhooks(report.webhooks()));
    out.println(Goals.text(List.of(report.goal())));
    out.printf(
        Locale.ROOT,
        "answers: %s; answered 2xx and not stored: %d, payment not confirmed: %d%n",
        report.webhooks().answers(),
        report.webhooks().notStored(),
        report.webhooks().notConfirmed());
    out.flush();
  }
}
