package io.payrelay.app;

import java.io.PrintWriter;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Brings database and Kafka to what this build needs. */
@Command(
    name = "migrate",
    mixinStandardHelpOptions = true,
    description =
        "Makes tables, publication, replication slot, topics and the relay's first position, and then"
            + " opens the outbox for upstream services. Can be run again at any time.")
@SuppressWarnings("NullAway.Init") // picocli injects.
final class MigrateCommand implements Runnable {

  @ParentCommand private PayrelayCommand parent;
  @Spec private CommandSpec spec;

  @Override
  public void run() {
    Parts.migrate(parent.environment());
    PrintWriter out = spec.commandLine().getOut();
    out.println(
        "migrated; next: a login for each part (docs/operations.md), then the parts themselves");
    out.flush();
  }
}
