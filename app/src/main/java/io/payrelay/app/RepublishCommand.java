package io.payrelay.app;

import io.payrelay.relay.RepublishReport;
import io.payrelay.relay.RepublishSelection;
import java.io.PrintWriter;
import java.time.Clock;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Sends stored events again on purpose. */
@Command(
    name = "republish",
    mixinStandardHelpOptions = true,
    description = {
      "Sends stored outbox events to their topics once more, with the same event ids and the header",
      "payrelay-republished. Says what it would send; sends with --execute. See docs/relay.md."
    })
@SuppressWarnings("NullAway.Init") // picocli injects.
final class RepublishCommand implements Callable<Integer> {

  @ParentCommand private PayrelayCommand parent;
  @Spec private CommandSpec spec;

  @Option(
      names = "--from",
      required = true,
      paramLabel = "TIME",
      converter = TimeOptions.ToInstant.class,
      description =
          "events stored since this time (the start of their transaction), such as"
              + " 2026-11-29T12:00:00Z")
  private Instant from;

  @Option(
      names = "--to",
      required = true,
      paramLabel = "TIME",
      converter = TimeOptions.ToInstant.class,
      description = "and before this time")
  private Instant to;

  @Option(
      names = "--aggregate-id",
      paramLabel = "ID",
      description = "of these aggregates only, such as payment ids; may be given several times")
  private List<String> aggregateIds = new ArrayList<>();

  @Option(
      names = "--max-events",
      paramLabel = "N",
      defaultValue = "10000",
      description = "refuse more than that (${DEFAULT-VALUE})")
  private long maxEvents;

  @Option(names = "--execute", description = "send; without this nothing is sent")
  private boolean execute;

  @Override
  public Integer call() {
    RepublishSelection selection = selection();
    PrintWriter out = spec.commandLine().getOut();
    PrintWriter err = spec.commandLine().getErr();
    RepublishReport report =
        Parts.republish(
            parent.environment(),
            selection,
            execute,
            line -> {
              err.println(line);
              err.flush();
            });
    return tell(report, out);
  }

  /** What to exit with: events that were to be sent and cannot be are a failure. */
  static int tell(RepublishReport report, PrintWriter out) {
    new TreeMap<>(report.byType())
        .forEach((type, count) -> out.println("%s: %,d".formatted(type, count)));
    if (!report.unencodable().isEmpty()) {
      out.println(
          "not sent, because they cannot be encoded (where the relay met them, `payrelay.dead-letter`"
              + " has the reasons): "
              + String.join(", ", report.unencodable()));
    }
    out.println(
        report.executed()
            ? "%,d events sent".formatted(report.events())
            : "%,d events would be sent. Nothing was sent; to send them, add --execute."
                .formatted(report.events()));
    out.flush();
    return report.executed() && !report.unencodable().isEmpty() ? CommandLines.EXIT_FATAL : 0;
  }

  private RepublishSelection selection() {
    if (to.isAfter(Clock.systemUTC().instant())) {
      throw new ParameterException(spec.commandLine(), "--to %s lies in the future".formatted(to));
    }
    try {
      return new RepublishSelection(from, to, aggregateIds, maxEvents);
    } catch (IllegalArgumentException e) {
      throw new ParameterException(spec.commandLine(), e.getMessage(), e);
    }
  }
}
