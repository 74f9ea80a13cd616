package io.payrelay.app;

import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Streams outbox rows to Kafka, exactly once. */
@Command(
    name = "relay",
    mixinStandardHelpOptions = true,
    description = "Streams outbox rows to Kafka, exactly once. Runs until it is stopped.",
    subcommands = RelayRecoverCommand.class)
@SuppressWarnings("NullAway.Init") // picocli injects.
final class RelayCommand implements Callable<Integer> {

  @ParentCommand private PayrelayCommand parent;
  @Spec private CommandSpec spec;

  /** Where the command and its subcommands read their configuration. */
  Map<String, String> environment() {
    return parent.environment();
  }

  @Override
  public Integer call() {
    return PartRunner.run(Parts.relay(parent.environment()), spec.commandLine().getOut());
  }
}
