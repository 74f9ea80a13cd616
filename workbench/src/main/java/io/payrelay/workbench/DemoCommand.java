package io.payrelay.workbench;

import io.payrelay.localstack.LocalStack;
import io.payrelay.simulator.FaultProfile;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/**
 * Sends payments through the whole system while the provider misbehaves, and counts what came of
 * it.
 */
@Command(
    name = "demo",
    mixinStandardHelpOptions = true,
    description =
        "Starts everything on this machine, sends payments through it with faults injected, and exits 0"
            + " only if nothing was lost, charged twice or left open.")
@SuppressWarnings("NullAway.Init") // picocli injects.
final class DemoCommand implements Callable<Integer> {

  private static final int PAYMENTS_MAX = 1_000_000;

  @Spec private CommandSpec spec;

  @Option(
      names = "--payments",
      paramLabel = "N",
      defaultValue = "200",
      description = "(${DEFAULT-VALUE})")
  private int payments;

  @Option(
      names = "--faults",
      paramLabel = "PROFILE",
      defaultValue = "default",
      description = "${COMPLETION-CANDIDATES} (${DEFAULT-VALUE})")
  private FaultProfile faults;

  @Option(
      names = "--seed",
      paramLabel = "S",
      defaultValue = "1",
      description = "the same seed, the same faults (${DEFAULT-VALUE})")
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

  @Option(names = "--keep-running", description = "leave everything running until Ctrl-C")
  private boolean keepRunning;

  @Option(
      names = "--timeout-s",
      paramLabel = "T",
      defaultValue = "300",
      description = "give up after that many seconds (${DEFAULT-VALUE})")
  private long timeoutS;

  @Override
  public Integer call() {
    if (payments < 1 || payments > PAYMENTS_MAX) {
      throw new ParameterException(
          spec.commandLine(), "--payments takes 1 to " + PAYMENTS_MAX + ", not " + payments);
    }
    ReportFile.check(spec, report);
    PrintWriter out = spec.commandLine().getOut();
    Progress progress = new Progress(out);
    long startNs = System.nanoTime();
    progress.step("starting PostgreSQL and Kafka");
    try (LocalStack infra = LocalStack.builder().start();
        Stack stack =
            Stack.start(infra, faults, seed, learnBy, part -> progress.step("starting " + part))) {
      progress.step("started in %.1f s".formatted((System.nanoTime() - startNs) / 1_000_000_000.0));
      Report result =
          new DemoRun(stack, payments, seed, Duration.ofSeconds(timeoutS), progress).run();
      progress.end();
      Summary.print(out, result, faults, seed, stack.simulator().stats());
      ReportFile.write(report, result);
      List<String> violations = result.violations();
      if (keepRunning) {
        Urls.print(out, stack);
        out.println("Running until Ctrl-C.");
        out.flush();
        stack.ended().join();
      }
      return violations.isEmpty() ? 0 : 1;
    }
  }
}
