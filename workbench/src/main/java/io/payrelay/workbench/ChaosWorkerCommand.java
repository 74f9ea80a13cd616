package io.payrelay.workbench;

import io.payrelay.localstack.LocalStack;
import io.payrelay.simulator.FaultProfile;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The proof of one charge: workers are killed under load, then the provider's ledger is asked. */
@Command(
    name = "worker",
    mixinStandardHelpOptions = true,
    description =
        "Starts everything on this machine with three charge-worker processes and a provider that storms, requests"
            + " payments all the while, kills the workers (-9) at random instants and at named points of a charge,"
            + " freezes them for longer than their leases, restarts them, and exits 0 only if the provider's own"
            + " ledger, the database and the status topic agree on every payment.")
@SuppressWarnings("NullAway.Init") // picocli injects.
final class ChaosWorkerCommand implements Callable<Integer> {

  private static final int KILLS_MAX = 10_000;

  @Spec private CommandSpec spec;

  @Option(
      names = "--kills",
      paramLabel = "N",
      defaultValue = "20",
      description =
          "processes to kill; besides, one is frozen every seven kills (${DEFAULT-VALUE})")
  private int kills;

  @Option(
      names = "--seed",
      paramLabel = "S",
      defaultValue = "1",
      description = "decides faults, kinds and instants of the kills (${DEFAULT-VALUE})")
  private long seed;

  @Option(
      names = "--learn-by",
      paramLabel = "WAY",
      defaultValue = "both",
      description =
          "how results become known, beside the answers to calls: ${COMPLETION-CANDIDATES} (${DEFAULT-VALUE})")
  private LearnBy learnBy;

  @Option(names = "--report", paramLabel = "FILE", description = "writes the counts as JSON")
  private @Nullable Path report;

  @Override
  public Integer call() {
    if (kills < 1 || kills > KILLS_MAX) {
      throw new ParameterException(
          spec.commandLine(), "--kills takes 1 to %d, not %d".formatted(KILLS_MAX, kills));
    }
    ReportFile.check(spec, report);
    PrintWriter out = spec.commandLine().getOut();
    Progress progress = new Progress(out);
    progress.step("starting PostgreSQL and Kafka");
    try (LocalStack infra = LocalStack.builder().start();
        Stack stack =
            Stack.startWithoutWorker(
                infra,
                FaultProfile.STORM,
                seed,
                learnBy,
                part -> progress.step("starting " + part));
        WorkerChaos chaos = new WorkerChaos(stack, kills, seed, learnBy)) {
      WorkerChaosReport result = chaos.run(progress);
      progress.end();
      result.print(out);
      ReportFile.write(report, result);
      if (!result.passed()) {
        out.println("The logs of the workers are in " + chaos.keepLogs());
        out.flush();
      }
      return result.passed() ? 0 : 1;
    }
  }
}
