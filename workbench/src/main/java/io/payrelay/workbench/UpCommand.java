package io.payrelay.workbench;

import io.payrelay.localstack.LocalStack;
import io.payrelay.simulator.FaultProfile;
import java.io.PrintWriter;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Runs everything on this machine until Ctrl-C. */
@Command(
    name = "up",
    mixinStandardHelpOptions = true,
    description = "Starts everything on this machine and keeps it running until Ctrl-C.")
@SuppressWarnings("NullAway.Init") // picocli injects.
final class UpCommand implements Runnable {

  @Spec private CommandSpec spec;

  @Option(
      names = "--faults",
      paramLabel = "PROFILE",
      defaultValue = "none",
      description = "${COMPLETION-CANDIDATES} (${DEFAULT-VALUE})")
  private FaultProfile faults;

  @Option(
      names = "--seed",
      paramLabel = "S",
      defaultValue = "1",
      description = "(${DEFAULT-VALUE})")
  private long seed;

  @Option(
      names = "--learn-by",
      paramLabel = "WAY",
      defaultValue = "both",
      description =
          "how results become known, beside the answers to calls: ${COMPLETION-CANDIDATES} (${DEFAULT-VALUE})")
  private LearnBy learnBy;

  @Option(
      names = "--data-dir",
      paramLabel = "D",
      description = "keep database and Kafka there between runs; without it they are thrown away")
  private @Nullable Path dataDir;

  @Option(
      names = "--pg-port",
      paramLabel = "P",
      defaultValue = "0",
      description = "0, the default: a free one")
  private int postgresPort;

  @Option(
      names = "--kafka-port",
      paramLabel = "K",
      defaultValue = "0",
      description = "0, the default: a free one")
  private int kafkaPort;

  @Override
  public void run() {
    PrintWriter out = spec.commandLine().getOut();
    Progress progress = new Progress(out);
    progress.step("starting PostgreSQL and Kafka");
    LocalStack.Builder builder =
        LocalStack.builder().postgresPort(postgresPort).kafkaPort(kafkaPort).closeOnExit(false);
    if (dataDir != null) {
      builder.dataDir(dataDir);
    }
    LocalStack infra = builder.start();
    try {
      Stack stack =
          Stack.start(infra, faults, seed, learnBy, part -> progress.step("starting " + part));
      progress.end();
      // On Ctrl-C first what works, then what it works with.
      Runtime.getRuntime()
          .addShutdownHook(
              new Thread(
                  () -> {
                    try {
                      stack.close();
                    } finally {
                      infra.close();
                    }
                  },
                  "shutdown"));
      Urls.print(out, stack);
      out.println("Running until Ctrl-C.");
      out.flush();
      stack.ended().join();
    } catch (RuntimeException e) {
      infra.close();
      throw e;
    }
  }
}
