package io.payrelay.workbench;

import io.payrelay.localstack.LocalStack;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The proof of exactly once: relays are killed under load, then Kafka is compared to the table. */
@Command(
    name = "relay",
    mixinStandardHelpOptions = true,
    description =
        "Starts PostgreSQL, Kafka and several relay processes, kills the relays (-9) at random instants"
            + " and at named points of a batch, ends their walsender, all under mixed load, and exits 0"
            + " only if each committed row came to Kafka once and in order.")
@SuppressWarnings("NullAway.Init") // picocli injects.
final class ChaosRelayCommand implements Callable<Integer> {

  private static final int KILLS_MAX = 10_000;
  private static final int SECONDS_MAX = 86_400;

  @Spec private CommandSpec spec;

  @Option(
      names = "--kills",
      paramLabel = "N",
      defaultValue = "20",
      description = "processes to kill (${DEFAULT-VALUE})")
  private int kills;

  @Option(
      names = "--seed",
      paramLabel = "S",
      defaultValue = "1",
      description = "decides load, kinds and instants of the kills (${DEFAULT-VALUE})")
  private long seed;

  @Option(
      names = "--seconds",
      paramLabel = "T",
      defaultValue = "60",
      description =
          "the kills are spread over that time, and take longer if need be" + " (${DEFAULT-VALUE})")
  private int seconds;

  @Option(names = "--report", paramLabel = "FILE", description = "writes the counts as JSON")
  private @Nullable Path report;

  @Override
  public Integer call() {
    check("--kills", kills, KILLS_MAX);
    check("--seconds", seconds, SECONDS_MAX);
    ReportFile.check(spec, report);
    PrintWriter out = spec.commandLine().getOut();
    Progress progress = new Progress(out);
    progress.step("starting PostgreSQL and Kafka");
    try (LocalStack infra = LocalStack.builder().start();
        RelayChaos chaos = new RelayChaos(infra, kills, seed, Duration.ofSeconds(seconds))) {
      RelayChaosReport result = chaos.run(progress);
      progress.end();
      result.print(out);
      ReportFile.write(report, result);
      if (!result.passed()) {
        out.println("The logs of the relays are in " + chaos.keepLogs());
        out.flush();
      }
      return result.passed() ? 0 : 1;
    }
  }

  private void check(String option, int value, int max) {
    if (value < 1 || value > max) {
      throw new ParameterException(
          spec.commandLine(), "%s takes 1 to %d, not %d".formatted(option, max, value));
    }
  }
}
