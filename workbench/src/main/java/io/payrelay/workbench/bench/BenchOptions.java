package io.payrelay.workbench.bench;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** What every benchmark takes, and the bounds of what each takes. */
@SuppressWarnings("NullAway.Init") // picocli injects.
final class BenchOptions {

  private static final int EVENTS_MAX = 5_000_000;
  private static final int ROWS_MAX = 100_000;
  private static final int RATE_MAX = 20_000;
  private static final int SECONDS_MAX = 3600;
  private static final int CONNECTIONS_MAX = 1_000;
  private static final int LATENCIES_MAX = 5_000_000;
  private static final int PAYMENTS_MAX = 1_000_000;
  private static final int OUTSTANDING_MAX = 100_000;

  @Spec(Spec.Target.MIXEE)
  private CommandSpec mixee;

  @Option(names = "--report", paramLabel = "FILE", description = "writes the figures as JSON")
  private @Nullable Path report;

  @Option(
      names = {"--java-options", "--relay-java-options"},
      paramLabel = "TEXT",
      defaultValue = "",
      description =
          "further options for the JVM of what is measured, for example a flight recording; they come after "
              + PayrelaySubject.HEAP)
  private String javaOptions;

  BenchOptions() {}

  @Nullable Path report() {
    return report;
  }

  List<String> javaOptions() {
    return javaOptions.isBlank() ? List.of() : List.of(javaOptions.trim().split(" +", -1));
  }

  Drain.Size size(int events, int warmUpEvents, int rowsPerTransaction) {
    check("--events", events, 1, EVENTS_MAX);
    check("--warm-up-events", warmUpEvents, 0, EVENTS_MAX);
    check("--rows-per-transaction", rowsPerTransaction, 1, ROWS_MAX);
    return new Drain.Size(events, warmUpEvents, rowsPerTransaction);
  }

  Latency.Load load(int ratePerS, int seconds, int warmUpS) {
    check("--rate", ratePerS, 1, RATE_MAX);
    check("--seconds", seconds, 1, SECONDS_MAX);
    check("--warm-up-seconds", warmUpS, 0, SECONDS_MAX);
    if ((long) ratePerS * (seconds + warmUpS) > LATENCIES_MAX) {
      throw refused(
          "--rate times the seconds is more than %d events: take less of one"
              .formatted(LATENCIES_MAX));
    }
    return new Latency.Load(ratePerS, seconds, warmUpS);
  }

  PaymentFlow.Size payments(int payments, int warmUpPayments, int outstandingMax) {
    check("--payments", payments, 1, PAYMENTS_MAX);
    check("--warm-up-payments", warmUpPayments, 0, PAYMENTS_MAX);
    check("--outstanding", outstandingMax, 1, OUTSTANDING_MAX);
    return new PaymentFlow.Size(payments, warmUpPayments, outstandingMax);
  }

  WebhookLoad.Load webhooks(int events, int warmUpEvents, int ratePerS, int connections) {
    check("--events", events, 1, EVENTS_MAX);
    check("--warm-up-events", warmUpEvents, 0, EVENTS_MAX);
    check("--rate", ratePerS, 0, RATE_MAX);
    check("--connections", connections, 1, CONNECTIONS_MAX);
    return new WebhookLoad.Load(events, warmUpEvents, ratePerS, connections);
  }

  /** Found out before the work, not after it. */
  void checkReport() {
    if (report != null) {
      Path folder = report.toAbsolutePath().getParent();
      if (Files.isDirectory(report) || folder == null || !Files.isWritable(folder)) {
        throw refused("--report names %s, which cannot be written".formatted(report));
      }
    }
  }

  ParameterException refused(String sentence) {
    return new ParameterException(mixee.commandLine(), sentence);
  }

  void check(String option, int value, int min, int max) {
    if (value < min || value > max) {
      throw refused("%s takes %d to %d, not %d".formatted(option, min, max, value));
    }
  }
}
