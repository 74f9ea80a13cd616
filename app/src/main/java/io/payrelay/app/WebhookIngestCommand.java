package io.payrelay.app;

import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Receives the provider's webhooks. */
@Command(
    name = "webhook-ingest",
    mixinStandardHelpOptions = true,
    description = "Receives the provider's webhooks. Runs until it is stopped.")
@SuppressWarnings("NullAway.Init") // picocli injects.
final class WebhookIngestCommand implements Callable<Integer> {

  @ParentCommand private PayrelayCommand parent;
  @Spec private CommandSpec spec;

  @Override
  public Integer call() {
    return PartRunner.run(Parts.webhookIngest(parent.environment()), spec.commandLine().getOut());
  }
}
