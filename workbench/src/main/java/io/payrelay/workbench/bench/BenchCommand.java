package io.payrelay.workbench.bench;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Measures, on this machine, with servers of its own. */
@Command(
    name = "bench",
    mixinStandardHelpOptions = true,
    description =
        "Measures on this machine, with a PostgreSQL and a Kafka of its own. What else runs beside it shows"
            + " in the figures: compare ratios within one run.",
    subcommands = {
      RelayBenchCommand.class,
      LatencyBenchCommand.class,
      CompareBenchCommand.class,
      PaymentsBenchCommand.class,
      WebhookBenchCommand.class
    })
@SuppressWarnings("NullAway.Init") // picocli injects.
public final class BenchCommand implements Runnable {

  @Spec private CommandSpec spec;

  /** Made by the command line. */
  public BenchCommand() {}

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "Name a benchmark; --help lists them.");
  }
}
