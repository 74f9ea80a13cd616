package io.payrelay.app;

import com.fasterxml.jackson.databind.JsonNode;
import io.payrelay.payments.store.Person;
import io.payrelay.platform.config.Settings;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.providers.WebhookAdapter;
import io.payrelay.providers.generic.GenericConfig;
import io.payrelay.providers.stripe.StripeWebhookConfig;
import io.payrelay.webhook.Disposition;
import io.payrelay.webhook.IngestConfig;
import io.payrelay.webhook.WebhookDesk;
import java.io.PrintWriter;
import java.time.Clock;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicLong;
import org.jdbi.v3.core.Jdbi;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Lists, shows and reprocesses stored webhook events. */
@Command(
    name = "webhooks",
    mixinStandardHelpOptions = true,
    description = {
      "Stored webhook events: what became of each, its content without private data, and applying it again.",
      "As a database user with payrelay_operator, with the provider settings of the ingest but none of its secrets."
    })
@SuppressWarnings("NullAway.Init") // picocli injects.
final class WebhooksCommand implements Runnable {

  private static final List<Disposition> REPROCESSED =
      List.of(Disposition.FAILED, Disposition.PARKED, Disposition.UNMATCHED);

  @ParentCommand private PayrelayCommand parent;
  @Spec private CommandSpec spec;

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "Name what to do: list, show or reprocess.");
  }

  /** Which events. */
  static final class Which {

    @Option(names = "--provider", description = "such as stripe")
    private @Nullable String provider;

    @Option(names = "--event-id", paramLabel = "ID", description = "may be given several times")
    private List<String> eventIds = new ArrayList<>();

    @Option(
        names = "--from",
        paramLabel = "TIME",
        converter = TimeOptions.ToInstant.class,
        description = "received since, such as 2026-11-29T12:00:00Z")
    private @Nullable Instant from;

    @Option(
        names = "--to",
        paramLabel = "TIME",
        converter = TimeOptions.ToInstant.class,
        description = "and before")
    private @Nullable Instant to;

    @Option(names = "--disposition", description = "such as FAILED; may be given several times")
    private List<Disposition> dispositions = new ArrayList<>();

    @Option(names = "--payment", paramLabel = "ID", description = "of this payment")
    private @Nullable String paymentId;

    private WebhookRows.Filter filter(List<Disposition> which, boolean wipedToo, int limit) {
      return new WebhookRows.Filter(
          provider, eventIds, from, to, which, paymentId, wipedToo, limit);
    }
  }

  @Command(
      name = "list",
      mixinStandardHelpOptions = true,
      description = "Lists events, the newest first.")
  void list(
      @ArgGroup(exclusive = false) @Nullable Which which,
      @Option(names = "--wiped", description = "those too whose body is gone by retention")
          boolean wiped,
      @Option(names = "--limit", defaultValue = "50", description = "(${DEFAULT-VALUE})") int limit,
      @Option(names = "--json", description = "print one JSON object") boolean json) {
    Which chosen = orAll(which);
    List<Map<String, Object>> rows =
        OperatorDatabase.with(
            parent.environment(),
            "webhooks",
            (jdbi, settings) ->
                jdbi.withHandle(
                    tx -> WebhookRows.list(tx, chosen.filter(chosen.dispositions, wiped, limit))));
    PrintWriter out = spec.commandLine().getOut();
    if (json) {
      out.println(Rows.json(Map.of("events", rows)));
    } else {
      rows.forEach(row -> out.println(Rows.line(row)));
      out.println(
          rows.isEmpty()
              ? "no events"
              : rows.size() + " shown" + (rows.size() == limit ? "; there may be more" : ""));
    }
    out.flush();
  }

  @Command(
      name = "show",
      mixinStandardHelpOptions = true,
      description = "Shows one with its body; all but harmless fields are hidden.")
  void show(
      @Parameters(paramLabel = "PROVIDER") String provider,
      @Parameters(paramLabel = "EVENT_ID") String eventId,
      @Option(names = "--json", description = "print one JSON object") boolean json) {
    Map<String, Object> event =
        OperatorDatabase.with(
            parent.environment(),
            "webhooks",
            (jdbi, settings) ->
                jdbi.withHandle(tx -> WebhookRows.show(tx, provider, eventId))
                    .orElseThrow(
                        () ->
                            new PayrelayException(
                                Category.REJECTED,
                                "There is no event %s of %s".formatted(eventId, provider))));
    PrintWriter out = spec.commandLine().getOut();
    if (json) {
      out.println(Rows.json(event));
    } else {
      event.forEach((name, value) -> print(out, name, value));
    }
    out.flush();
  }

  private static void print(PrintWriter out, String name, Object value) {
    if (value instanceof JsonNode node && node.isContainerNode()) {
      out.println(name + ":");
      out.println(Rows.json(node).indent(2).stripTrailing());
    } else if (value instanceof List<?> rows) {
      out.println(name + (rows.isEmpty() ? ": none" : ":"));
      rows.forEach(row -> out.println("  " + row));
    } else {
      out.println(name + ": " + (value instanceof JsonNode node ? node.asText() : value));
    }
  }

  @Command(
      name = "reprocess",
      mixinStandardHelpOptions = true,
      description = {
        "Applies events again: FAILED, PARKED and UNMATCHED ones, or those of --disposition (UNKNOWN_TYPE",
        "too). Says what it would do; does it with --execute. What was applied is not applied twice."
      })
  int reprocess(
      @ArgGroup(exclusive = false, multiplicity = "1") Which which,
      @Option(names = "--by", required = true, paramLabel = "WHO", description = "for the record")
          String by,
      @Option(
              names = "--reason",
              required = true,
              paramLabel = "TEXT",
              description = "for the record")
          String reason,
      @Option(
              names = "--max-events",
              defaultValue = "10000",
              description = "do not more than that (${DEFAULT-VALUE})")
          int maxEvents,
      @Option(names = "--execute", description = "do it") boolean execute) {
    if (by.isBlank() || reason.isBlank()) {
      throw new ParameterException(spec.commandLine(), "--by and --reason must not be empty");
    }
    List<Disposition> chosen = which.dispositions.isEmpty() ? REPROCESSED : which.dispositions;
    Person person = new Person(CardNumbers.masked(by), CardNumbers.masked(reason), null);
    return OperatorDatabase.with(
        parent.environment(),
        "webhooks",
        (jdbi, settings) -> {
          List<WebhookAdapter> readers = Parts.webhookReaders(settings);
          refuseUnread(tellPlan(jdbi, which, chosen), readers, settings);
          if (!execute) {
            spec.commandLine().getOut().println("nothing was done: add --execute");
            spec.commandLine().getOut().flush();
            return 0;
          }
          WebhookDesk desk =
              new WebhookDesk(
                  jdbi, readers, Clock.systemUTC(), settings.read(IngestConfig.PARK_LIMIT));
          List<WebhookRows.Key> keys =
              jdbi.withHandle(tx -> WebhookRows.keys(tx, which.filter(chosen, false, maxEvents)));
          return execute(desk, keys, person);
        });
  }

  private static String text(Map<String, Object> row, String column) {
    return Objects.requireNonNull(row.get(column), column).toString();
  }

  /** Says what would be done, and returns whose events they are. */
  private Set<String> tellPlan(Jdbi jdbi, Which which, List<Disposition> chosen) {
    PrintWriter out = spec.commandLine().getOut();
    List<Map<String, Object>> all =
        jdbi.withHandle(
            tx -> WebhookRows.counts(tx, which.filter(List.of(), true, Integer.MAX_VALUE)));
    Set<String> providers = new TreeSet<>();
    long applied = 0;
    for (Map<String, Object> row : all) {
      Disposition disposition = Disposition.valueOf(text(row, "disposition"));
      long events = Long.parseLong(text(row, "events"));
      long wiped = Long.parseLong(text(row, "wiped"));
      if (!chosen.contains(disposition)) {
        applied += events;
      } else {
        providers.add(text(row, "provider"));
        out.println(
            "%s %s: %d%s, received %s to %s"
                .formatted(
                    row.get("provider"),
                    disposition,
                    events - wiped,
                    wiped == 0 ? "" : " (" + wiped + " more were wiped)",
                    row.get("oldest"),
                    row.get("newest")));
      }
    }
    if (applied > 0) {
      out.println(applied + " others are left as they are");
    }
    out.flush();
    return providers;
  }

  /** With other settings than the ingest's an event would be read as something else, or not. */
  private static void refuseUnread(
      Set<String> providers, List<WebhookAdapter> readers, Settings settings) {
    Set<String> unread = new TreeSet<>(providers);
    readers.forEach(reader -> unread.remove(reader.name()));
    if (!unread.isEmpty()) {
      throw new PayrelayException(
          Category.REJECTED,
          "Events of %s cannot be read here, because %s is \"%s\": set it, and %s, as the ingest has them, or name --provider. Nothing was done"
              .formatted(
                  String.join(", ", unread),
                  GenericConfig.NAME.name(),
                  settings.read(GenericConfig.NAME),
                  GenericConfig.QUERIES.name()));
    }
  }

  private int execute(WebhookDesk desk, List<WebhookRows.Key> keys, Person person) {
    PrintWriter out = spec.commandLine().getOut();
    Map<Disposition, AtomicLong> became = new TreeMap<>();
    for (WebhookRows.Key key : keys) {
      reprocessed(desk, key, person, became)
          .ifPresent(
              after -> became.computeIfAbsent(after, any -> new AtomicLong()).incrementAndGet());
    }
    became.forEach((after, count) -> out.println("%s: %s".formatted(after, count)));
    out.println(
        "%d of %d events reprocessed"
            .formatted(became.values().stream().mapToLong(AtomicLong::get).sum(), keys.size()));
    out.flush();
    return became.containsKey(Disposition.FAILED) ? CommandLines.EXIT_FATAL : 0;
  }

  private static Optional<Disposition> reprocessed(
      WebhookDesk desk, WebhookRows.Key key, Person person, Map<Disposition, AtomicLong> before) {
    try {
      return desk.reprocess(key.provider(), key.eventId(), person);
    } catch (PayrelayException e) {
      throw new PayrelayException(
          e.category(),
          "%s. Compare %s and %s with the ingest's. %d events were reprocessed before it"
              .formatted(
                  e.getMessage(),
                  StripeWebhookConfig.LIVE_MODE.name(),
                  StripeWebhookConfig.ACCOUNT.name(),
                  before.values().stream().mapToLong(AtomicLong::get).sum()),
          e);
    }
  }

  private static Which orAll(@Nullable Which which) {
    return which == null ? new Which() : which;
  }
}
