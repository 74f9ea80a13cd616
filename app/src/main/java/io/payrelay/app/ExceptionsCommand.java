package io.payrelay.app;

import io.payrelay.payments.lifecycle.ExceptionKind;
import io.payrelay.payments.money.Money;
import io.payrelay.payments.store.CaseAction;
import io.payrelay.payments.store.CaseStore;
import io.payrelay.payments.store.StoredCase;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.io.PrintWriter;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Lists, shows and resolves exception cases. */
@Command(
    name = "exceptions",
    mixinStandardHelpOptions = true,
    description = {
      "What did not converge by itself, with the evidence, and what a person can do about it.",
      "As a database user with payrelay_operator. Every deed is on record (payrelay.operator_action)."
    },
    subcommands = ExceptionsResolveCommand.class)
@SuppressWarnings("NullAway.Init") // picocli injects.
final class ExceptionsCommand implements Runnable {

  @ParentCommand private PayrelayCommand parent;
  @Spec private CommandSpec spec;

  Map<String, String> environment() {
    return parent.environment();
  }

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "Name what to do: list, show or resolve.");
  }

  @Command(
      name = "list",
      mixinStandardHelpOptions = true,
      description = "Lists open cases, the newest first.")
  void list(
      @Option(names = "--kind", description = "such as UNRESOLVED") @Nullable ExceptionKind kind,
      @Option(names = "--provider") @Nullable String provider,
      @Option(names = "--payment", paramLabel = "ID") @Nullable String paymentId,
      @Option(names = "--all", description = "resolved ones too") boolean all,
      @Option(names = "--limit", defaultValue = "50", description = "(${DEFAULT-VALUE})") int limit,
      @Option(names = "--json", description = "print one JSON object") boolean json) {
    CaseStore store = new CaseStore();
    CaseStore.Filter filter = new CaseStore.Filter(kind, provider, paymentId, all, limit);
    List<StoredCase> found =
        OperatorDatabase.with(
            environment(),
            "exceptions",
            (jdbi, settings) -> jdbi.withHandle(tx -> store.list(tx, filter)));
    PrintWriter out = spec.commandLine().getOut();
    if (json) {
      out.println(
          Rows.json(Map.of("cases", found.stream().map(ExceptionsCommand::summary).toList())));
    } else {
      found.forEach(one -> out.println(Rows.line(summary(one))));
      out.println(
          found.isEmpty()
              ? "no cases"
              : found.size() + " shown" + (found.size() == limit ? "; there may be more" : ""));
    }
    out.flush();
  }

  @Command(
      name = "show",
      mixinStandardHelpOptions = true,
      description = "Shows one with its evidence, what it takes, and what was done about it.")
  void show(
      @Parameters(paramLabel = "ID") long id,
      @Option(names = "--json", description = "print one JSON object") boolean json) {
    Map<String, Object> shown =
        OperatorDatabase.with(
            environment(),
            "exceptions",
            (jdbi, settings) ->
                jdbi.withHandle(
                    tx -> {
                      StoredCase one =
                          new CaseStore()
                              .find(tx, id)
                              .orElseThrow(
                                  () ->
                                      new PayrelayException(
                                          Category.REJECTED, "There is no exception case " + id));
                      Map<String, Object> all = summary(one);
                      all.put("event_at", one.eventAt().toString());
                      put(all, "trace_id", one.traceId());
                      all.put("evidence", masked(one.evidence()));
                      all.put(
                          "actions",
                          tx.createQuery(
                                  """
                          SELECT acted_at, action, acted_by, database_user, reason, evidence, arguments, result
                          FROM payrelay.operator_action WHERE exception_case_id = :id
                          ORDER BY operator_action_id
                          """)
                              .bind("id", id)
                              .map(Rows::read)
                              .list());
                      return all;
                    }));
    PrintWriter out = spec.commandLine().getOut();
    if (json) {
      out.println(Rows.json(shown));
    } else {
      shown.forEach((name, value) -> print(out, name, value));
    }
    out.flush();
  }

  private static void print(PrintWriter out, String name, Object value) {
    if (value instanceof List<?> rows && !rows.isEmpty() && rows.get(0) instanceof Map<?, ?>) {
      out.println(name + ":");
      rows.forEach(row -> out.println("  " + row));
    } else if (value instanceof Map<?, ?> map) {
      out.println(name + ":");
      map.forEach((key, text) -> out.println("  " + key + ": " + text));
    } else {
      out.println(name + ": " + value);
    }
  }

  private static Map<String, Object> summary(StoredCase one) {
    Map<String, Object> row = new LinkedHashMap<>();
    row.put("id", one.id());
    row.put("kind", one.kind().name());
    row.put("status", one.isOpen() ? "OPEN" : "RESOLVED");
    row.put("opened_at", one.openedAt().toString());
    put(row, "payment_id", one.paymentId());
    put(row, "provider", one.provider());
    put(row, "provider_transaction_id", one.providerTransactionId());
    put(row, "expected", text(one.expected()));
    put(row, "observed", text(one.observed()));
    if (one.isOpen()) {
      row.put(
          "takes",
          CaseAction.of(one).stream().map(CaseAction::option).collect(Collectors.joining(",")));
    } else {
      put(row, "resolved_at", String.valueOf(one.resolvedAt()));
      put(row, "resolved_by", one.resolvedBy());
      put(row, "resolution", one.resolution());
    }
    return row;
  }

  private static Map<String, String> masked(Map<String, String> evidence) {
    Map<String, String> masked = new TreeMap<>();
    evidence.forEach((name, value) -> masked.put(name, CardNumbers.masked(value)));
    return masked;
  }

  private static @Nullable String text(@Nullable Money money) {
    return money == null ? null : money.amountMinor() + " " + money.currency();
  }

  private static void put(Map<String, Object> row, String name, @Nullable String value) {
    if (value != null) {
      row.put(name, CardNumbers.masked(value));
    }
  }
}
