package io.payrelay.app;

import java.util.Map;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** The root command; its subcommands do the work. */
@Command(
    name = "payrelay",
    mixinStandardHelpOptions = true,
    versionProvider = Version.class,
    description = {
      "Keeps a service's own database true to what outside payment providers did.",
      "Configuration: PAYRELAY_* environment variables, see docs/configuration.md."
    },
    subcommands = {
      MigrateCommand.class,
      RelayCommand.class,
      ChargeWorkerCommand.class,
      WebhookIngestCommand.class,
      PayCommand.class,
      StatusCommand.class,
      TailCommand.class,
      ExceptionsCommand.class,
      PaymentCommand.class,
      WebhooksCommand.class,
      DeadLettersCommand.class,
      RepublishCommand.class,
      ReplayCommand.class,
      ConfigCommand.class,
      RolesCommand.class
    })
public final class PayrelayCommand implements Runnable {

  private final Map<String, String> environment;

  @Spec private CommandSpec spec;

  /** A root command that reads its configuration from this environment. */
  @SuppressWarnings("NullAway.Init") // picocli injects the spec.
  public PayrelayCommand(Map<String, String> environment) {
    this.environment = Map.copyOf(environment);
  }

  /** Where commands read their configuration. */
  public Map<String, String> environment() {
    return environment;
  }

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "Name a command; --help lists them.");
  }
}
