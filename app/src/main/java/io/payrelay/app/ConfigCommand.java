package io.payrelay.app;

import java.io.PrintWriter;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Prints every setting with its default: the text of docs/configuration.md. */
@Command(
    name = "config",
    mixinStandardHelpOptions = true,
    description = "Prints every environment variable, its form, default and meaning.")
@SuppressWarnings("NullAway.Init") // picocli injects.
final class ConfigCommand implements Runnable {

  @Spec private CommandSpec spec;

  @Override
  public void run() {
    PrintWriter out = spec.commandLine().getOut();
    out.print(AppSettings.table());
    out.flush();
  }
}
