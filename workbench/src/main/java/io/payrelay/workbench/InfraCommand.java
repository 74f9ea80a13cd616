package io.payrelay.workbench;

import io.payrelay.localstack.InfraLine;
import io.payrelay.localstack.LocalStack;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** PostgreSQL and Kafka only. */
@Command(
    name = "infra",
    mixinStandardHelpOptions = true,
    description =
        "Starts PostgreSQL and Kafka only, prints one line when they are ready, runs until Ctrl-C."
            + " For trying on loopback: PostgreSQL trusts every local user.")
@SuppressWarnings("NullAway.Init") // picocli injects.
final class InfraCommand implements Runnable {

  @Spec private CommandSpec spec;

  @Option(
      names = "--data-dir",
      paramLabel = "D",
      description = "keep the data there between runs; without it they are thrown away")
  private @Nullable Path dataDir;

  @Option(names = "--pg-port", paramLabel = "P", defaultValue = "0", description = "0: a free one")
  private int postgresPort;

  @Option(
      names = "--kafka-port",
      paramLabel = "K",
      defaultValue = "0",
      description = "0: a free one")
  private int kafkaPort;

  @Override
  public void run() {
    LocalStack.Builder builder =
        LocalStack.builder().postgresPort(postgresPort).kafkaPort(kafkaPort);
    if (dataDir != null) {
      builder.dataDir(dataDir);
    }
    try (LocalStack infra = builder.start()) {
      PrintWriter out = spec.commandLine().getOut();
      out.println(InfraLine.of(infra));
      out.flush();
      new CountDownLatch(1).await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
