package io.payrelay.app;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.payrelay.platform.config.Settings;
import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.relay.DeadLetter;
import io.payrelay.relay.DeadLetters;
import io.payrelay.relay.FramingConfig;
import io.payrelay.relay.RelayConfig;
import io.payrelay.schemas.EventCatalogue;
import java.io.PrintWriter;
import java.time.Clock;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Shows, redrives and discards dead letters. */
@Command(
    name = "dead-letters",
    mixinStandardHelpOptions = true,
    description = {
      "Events that could not be published or charged, with the reason, and what to do with them.",
      "As a database user with payrelay_operator; docs/relay.md names the Kafka permissions."
    })
@SuppressWarnings("NullAway.Init") // picocli injects.
final class DeadLettersCommand implements Runnable {

  private static final int PAYLOAD_SHOWN = 2000;

  @ParentCommand private PayrelayCommand parent;
  @Spec private CommandSpec spec;

  @Override
  public void run() {
    throw new ParameterException(
        spec.commandLine(), "Name what to do: list, show, redrive or discard.");
  }

  /** Which ones, for list and for --all. */
  static final class Which {

    @Option(
        names = "--since",
        paramLabel = "TIME",
        description = "an instant such as 2026-03-01T00:00:00Z, or a duration back, such as PT6H")
    private @Nullable String since;

    @Option(names = "--source", description = "relay, charge-worker, other or gap")
    private @Nullable String source;

    @Option(names = "--reason-code", description = "such as mismatch, unknown_type, too_large")
    private @Nullable String reasonCode;

    @Option(names = "--event-type", description = "such as ChargeRequested")
    private @Nullable String eventType;

    @Option(names = "--aggregate-id", description = "such as a payment id")
    private @Nullable String aggregateId;

    private DeadLetters.Filter filter(int limit, boolean unresolvedOnly) {
      return new DeadLetters.Filter(
          limit,
          since == null ? null : instant(since),
          source,
          reasonCode,
          eventType,
          aggregateId,
          unresolvedOnly);
    }

    private static Instant instant(String text) {
      try {
        return text.startsWith("P")
            ? Clock.systemUTC().instant().minus(Duration.parse(text))
            : Instant.parse(text);
      } catch (DateTimeException e) {
        throw new PayrelayException(
            Category.REJECTED,
            "--since takes an instant such as 2026-03-01T00:00:00Z or a duration such as PT6H",
            e);
      }
    }
  }

  /** Which ones to act on: named, or all unresolved ones of a filter. */
  static final class Chosen {

    @Parameters(arity = "1..*", paramLabel = "ID", description = "ids as list shows them")
    private List<String> ids = List.of();

    @Option(names = "--all", description = "all unresolved ones that the filters take")
    private boolean all;
  }

  @Command(
      name = "list",
      mixinStandardHelpOptions = true,
      description = "Lists dead letters, the newest first.")
  void list(
      @ArgGroup(exclusive = false) @Nullable Which which,
      @Option(names = "--unresolved", description = "without those redriven or discarded already")
          boolean unresolvedOnly,
      @Option(names = "--limit", defaultValue = "50", description = "(${DEFAULT-VALUE})")
          int limit) {
    PrintWriter out = spec.commandLine().getOut();
    List<DeadLetter> letters = with(desk -> desk.list(orAll(which).filter(limit, unresolvedOnly)));
    letters.forEach(letter -> out.println(line(letter)));
    out.println(
        letters.isEmpty()
            ? "no dead letters"
            : letters.size() + " shown, " + unresolved(letters) + " of them unresolved");
    out.flush();
  }

  @Command(
      name = "show",
      mixinStandardHelpOptions = true,
      description = "Shows one with its headers and original; card numbers are hidden.")
  void show(
      @Parameters(paramLabel = "ID") String id,
      @Option(names = "--full", description = "the whole payload, not its beginning only")
          boolean full) {
    PrintWriter out = spec.commandLine().getOut();
    DeadLetters.Original original = with(desk -> desk.show(id));
    DeadLetter letter = original.letter();
    out.println(line(letter));
    if (!letter.isUnresolved()) {
      out.println(
          "  %s by %s: %s".formatted(letter.resolution(), letter.resolvedBy(), letter.why()));
    }
    original
        .headers()
        .forEach((name, value) -> out.println("  " + name + ": " + CardNumbers.masked(value)));
    if (original.lost() != null) {
      out.println("  record: " + original.lost());
    }
    byte[] payload = original.payload();
    if (payload == null) {
      out.println("  payload: neither Kafka nor the outbox holds it any more");
    } else {
      String text = CardNumbers.masked(new String(payload, UTF_8));
      boolean cut = !full && text.length() > PAYLOAD_SHOWN;
      out.println("  payload (%d bytes):".formatted(payload.length));
      out.println("  " + (cut ? text.substring(0, PAYLOAD_SHOWN) + " ... (--full)" : text));
    }
    out.flush();
  }

  @Command(
      name = "redrive",
      mixinStandardHelpOptions = true,
      description = {
        "Sends again what dead letters are about, after the cause was mended. Says what it would do;",
        "does it with --execute. Each is sent once at most, however often this is run."
      })
  int redrive(
      @ArgGroup(multiplicity = "1") Chosen chosen,
      @ArgGroup(exclusive = false) @Nullable Which which,
      @Option(names = "--why", required = true, description = "for the record") String why,
      @Option(names = "--by", description = "for the record; the user of this session unless given")
          @Nullable String by,
      @Option(names = "--execute", description = "do it") boolean execute) {
    return outcomes(
        with(desk -> desk.redrive(ids(desk, chosen, orAll(which)), person(by), why, execute)),
        execute);
  }

  @Command(
      name = "discard",
      mixinStandardHelpOptions = true,
      description = {
        "Notes that nothing will come of dead letters, so that they no longer keep their days in the",
        "outbox. Says what it would do; does it with --execute."
      })
  int discard(
      @ArgGroup(multiplicity = "1") Chosen chosen,
      @ArgGroup(exclusive = false) @Nullable Which which,
      @Option(names = "--why", required = true, description = "for the record") String why,
      @Option(names = "--by", description = "for the record; the user of this session unless given")
          @Nullable String by,
      @Option(names = "--execute", description = "do it") boolean execute) {
    return outcomes(
        with(desk -> desk.discard(ids(desk, chosen, orAll(which)), person(by), why, execute)),
        execute);
  }

  private int outcomes(List<DeadLetters.Outcome> outcomes, boolean execute) {
    PrintWriter out = spec.commandLine().getOut();
    for (DeadLetters.Outcome outcome : outcomes) {
      out.println(outcome.letter().id() + " " + CardNumbers.masked(outcome.sentence()));
    }
    long done = outcomes.stream().filter(DeadLetters.Outcome::done).count();
    out.println(
        execute
            ? "%d of %d done".formatted(done, outcomes.size())
            : "nothing was done: add --execute");
    out.flush();
    return execute && done < outcomes.size() ? CommandLines.EXIT_FATAL : 0;
  }

  private static List<String> ids(DeadLetters desk, Chosen chosen, Which which) {
    return chosen.all
        ? desk.list(which.filter(Integer.MAX_VALUE, true)).stream()
            // The oldest first: the order in which they were written.
            .sorted((one, other) -> one.at().compareTo(other.at()))
            .map(DeadLetter::id)
            .toList()
        : chosen.ids;
  }

  private static Which orAll(@Nullable Which which) {
    return which == null ? new Which() : which;
  }

  private static String person(@Nullable String by) {
    return by == null ? System.getProperty("user.name", "unknown") : by;
  }

  private static long unresolved(List<DeadLetter> letters) {
    return letters.stream().filter(DeadLetter::isUnresolved).count();
  }

  private static String line(DeadLetter letter) {
    return "%s %s %s %s type=%s aggregate=%s event=%s reason=%s (%s)"
        .formatted(
            letter.id(),
            letter.at(),
            letter.resolution() == null ? "UNRESOLVED" : letter.resolution(),
            letter.source(),
            letter.eventType(),
            letter.aggregateId(),
            letter.eventId(),
            letter.reasonCode(),
            CardNumbers.masked(letter.reason()));
  }

  private <T> T with(Function<DeadLetters, T> work) {
    Settings settings =
        AppSettings.check(parent.environment(), AppSettings.neededBy("dead-letters"));
    EventCatalogue catalogue;
    try {
      catalogue = EventCatalogue.withFolder(settings.read(RelayConfig.SCHEMAS_DIR));
    } catch (IllegalArgumentException e) {
      throw new PayrelayException(
          Category.FATAL, "PAYRELAY_SCHEMAS_DIR cannot be used: " + e.getMessage(), e);
    }
    try (DeadLetters desk =
        DeadLetters.open(
            DatabaseConfig.from(settings),
            KafkaConfig.from(settings),
            catalogue,
            FramingConfig.from(settings),
            Clock.systemUTC())) {
      // What is there can be worked on; what is lost must not go unseen meanwhile.
      PrintWriter err = spec.commandLine().getErr();
      desk.losses().forEach(loss -> err.println("warning: " + loss));
      err.flush();
      return work.apply(desk);
    }
  }
}
