package io.payrelay.workbench;

import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Runs that kill real processes on purpose and count what came of it. */
@Command(
    name = "chaos",
    mixinStandardHelpOptions = true,
    description = "Kills processes on purpose, under load, and exits 0 only if nothing came of it.",
    subcommands = {ChaosRelayCommand.class, ChaosWorkerCommand.class})
@SuppressWarnings("NullAway.Init") // picocli injects.
final class ChaosCommand implements Runnable {

  @Spec private CommandSpec spec;

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "Name what to kill; --help lists it.");
  }
}
