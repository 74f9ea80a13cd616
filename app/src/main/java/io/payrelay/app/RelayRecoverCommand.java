package io.payrelay.app;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.relay.RecoveryOptions;
import io.payrelay.relay.RecoveryReport;
import java.io.PrintWriter;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Makes a lost slot or position anew and publishes what Kafka lacks. */
@Command(
    name = "recover",
    mixinStandardHelpOptions = true,
    description = {
      "After a lost replication slot or position: compares the outbox with what Kafka holds, makes a new",
      "slot, publishes what is missing and writes the new position. Says what it would do; does it with",
      "--execute (as the relay's user, with all relays of the slot stopped). See docs/relay.md."
    })
@SuppressWarnings("NullAway.Init") // picocli injects.
final class RelayRecoverCommand implements Runnable {

  @ParentCommand private RelayCommand parent;
  @Spec private CommandSpec spec;

  @Option(names = "--execute", description = "do it; without this nothing is changed")
  private boolean execute;

  @Option(
      names = "--longest-transaction",
      paramLabel = "TIME",
      defaultValue = "24h",
      converter = TimeOptions.ToDuration.class,
      description =
          "the longest that a transaction with outbox rows was open before the position's commit"
              + " time: 90m, 24h, 2d (${DEFAULT-VALUE})")
  private Duration longestTransaction;

  @Option(
      names = "--since",
      paramLabel = "TIME",
      converter = TimeOptions.ToInstant.class,
      description =
          "all that committed before this time is known to be in Kafka, such as"
              + " 2026-11-29T12:00:00Z; instead of the position's commit time")
  private @Nullable Instant since;

  @Option(
      names = "--publish-doubtful",
      description =
          "also publish rows that may be among records which Kafka has deleted: consumers may see"
              + " them twice")
  private boolean publishDoubtful;

  @Option(names = "--force", description = "go on even where slot and position fit each other")
  private boolean force;

  @Override
  public void run() {
    PrintWriter out = spec.commandLine().getOut();
    PrintWriter err = spec.commandLine().getErr();
    RecoveryReport report =
        Parts.recover(
            parent.environment(),
            new RecoveryOptions(longestTransaction, since, publishDoubtful, force),
            execute,
            line -> {
              err.println(line);
              err.flush();
            });
    report.lines().forEach(out::println);
    out.flush();
    if (report.refusal() != null) {
      throw new PayrelayException(Category.FATAL, "Refused: " + report.refusal());
    }
  }
}
