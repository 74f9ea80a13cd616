package io.payrelay.app;

import io.payrelay.schemas.RolesScript;
import java.io.PrintWriter;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Spec;

/** Prints the script of the database's roles: what the relay's handbook tells to run. */
@Command(
    name = "roles",
    mixinStandardHelpOptions = true,
    description =
        "Prints the SQL script that makes the database's roles with the least rights each: run it as an"
            + " administrator before the first migrate.")
@SuppressWarnings("NullAway.Init") // picocli injects.
final class RolesCommand implements Runnable {

  @Spec private CommandSpec spec;

  @Override
  public void run() {
    PrintWriter out = spec.commandLine().getOut();
    out.print(RolesScript.text());
    out.flush();
  }
}
