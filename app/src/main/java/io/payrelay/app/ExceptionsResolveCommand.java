package io.payrelay.app;

import io.payrelay.payments.money.Money;
import io.payrelay.payments.store.CaseAction;
import io.payrelay.payments.store.CaseResolution;
import io.payrelay.payments.store.Person;
import io.payrelay.payments.store.QueryRequests;
import io.payrelay.webhook.IngestConfig;
import io.payrelay.webhook.WebhookDesk;
import java.io.PrintWriter;
import java.time.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Resolves an exception case: a person's word, decided on like any other. */
@Command(
    name = "resolve",
    mixinStandardHelpOptions = true,
    description = {
      "Resolves a case. `exceptions show` says which action it takes; docs/operations.md what each means.",
      "Exit code 1 where it was refused: nothing was changed then."
    })
@SuppressWarnings("NullAway.Init") // picocli injects.
final class ExceptionsResolveCommand implements Callable<Integer> {

  @ParentCommand private ExceptionsCommand parent;
  @Spec private CommandSpec spec;

  @Parameters(paramLabel = "ID", description = "of the case")
  private long caseId;

  @Option(names = "--by", required = true, paramLabel = "WHO", description = "for the record")
  private String by;

  @Option(names = "--reason", required = true, paramLabel = "TEXT", description = "for the record")
  private String reason;

  @Option(
      names = "--evidence",
      paramLabel = "TEXT",
      description = "what it rests on: a ticket, the provider's own record")
  private @Nullable String evidence;

  @ArgGroup(multiplicity = "1")
  private Action action;

  @Option(
      names = "--transaction-id",
      paramLabel = "T",
      description =
          "with --succeeded: the provider's transaction; of a refund: its id of the refund")
  private @Nullable String transactionId;

  @Option(
      names = "--amount-minor",
      paramLabel = "A",
      description = "with --succeeded; with --refund: a part only")
  private @Nullable Long amountMinor;

  @Option(names = "--currency", paramLabel = "C", description = "with --succeeded")
  private @Nullable String currency;

  @Option(names = "--code", paramLabel = "C", description = "with --failed: why, a stable code")
  private @Nullable String code;

  @Option(
      names = "--payment-id",
      paramLabel = "ID",
      description = "with --adopt, or --refund of an unmatched payment: a new id for it")
  private @Nullable String paymentId;

  @Option(names = "--merchant", paramLabel = "M", description = "with --payment-id")
  private @Nullable String merchant;

  @Option(names = "--order", paramLabel = "O", description = "with --payment-id")
  private @Nullable String order;

  @Option(
      names = "--wait",
      paramLabel = "LENGTH",
      defaultValue = "30s",
      converter = TimeOptions.ToDuration.class,
      description = "with --query: how long to wait for the answer (${DEFAULT-VALUE})")
  private Duration wait;

  /** Exactly one. */
  static final class Action {

    @Option(
        names = "--query",
        description =
            "have the provider asked; the case is resolved where its answer ends the payment")
    private boolean query;

    @Option(names = "--succeeded", description = "the charge, or the refund, succeeded")
    private boolean succeeded;

    @Option(
        names = "--failed",
        description = "the charge, or the refund, failed; a refund that had succeeded is returned")
    private boolean failed;

    @Option(names = "--refund", description = "give the money back that the case tells of")
    private boolean refund;

    @Option(
        names = "--adopt",
        description = "take an unmatched provider payment over as a payment; nothing is charged")
    private boolean adopt;

    @Option(names = "--close", description = "nothing more is to be done")
    private boolean close;
  }

  @Override
  public Integer call() {
    CaseResolution resolution = resolution();
    Person person = person();
    return OperatorDatabase.with(
        parent.environment(),
        "webhooks",
        (jdbi, settings) -> {
          WebhookDesk webhooks =
              new WebhookDesk(
                  jdbi,
                  Parts.webhookReaders(settings),
                  Clock.systemUTC(),
                  settings.read(IngestConfig.PARK_LIMIT));
          return resolve(new CaseOffice(jdbi, webhooks, Clock.systemUTC()), resolution, person);
        });
  }

  private int resolve(CaseOffice office, CaseResolution resolution, Person person) {
    PrintWriter out = spec.commandLine().getOut();
    CaseOffice.Done done = office.resolve(caseId, resolution, person);
    done.sentences().forEach(out::println);
    QueryRequests.Asked asked = done.resolved().asked();
    int exitCode = 0;
    boolean closed = done.resolved().closed();
    if (asked != null) {
      out.flush();
      CaseOffice.Answered answered = Questions.await(office, asked, wait);
      out.println(Questions.sentence(answered));
      if (answered.ended()) {
        office.closeAnswered(caseId, answered, person);
        closed = true;
      }
      exitCode = Questions.exitCode(answered);
    }
    out.println("case %d is %s".formatted(caseId, closed ? "RESOLVED" : "OPEN"));
    out.flush();
    return exitCode;
  }

  private Person person() {
    try {
      return new Person(
          CardNumbers.masked(by.strip()),
          CardNumbers.masked(reason.strip()),
          evidence == null ? null : CardNumbers.masked(evidence));
    } catch (IllegalArgumentException e) {
      throw usage("--by and --reason must not be empty");
    }
  }

  private CaseResolution resolution() {
    if (action.succeeded) {
      only(CaseAction.SUCCEEDED, "--transaction-id", "--amount-minor", "--currency");
      return new CaseResolution.Succeeded(
          needed(transactionId, "--transaction-id"),
          money(needed(amountMinor, "--amount-minor"), needed(currency, "--currency")));
    }
    if (action.failed) {
      only(CaseAction.FAILED, "--code");
      return new CaseResolution.Failed(needed(code, "--code"));
    }
    if (action.adopt) {
      only(CaseAction.ADOPT, "--payment-id", "--merchant", "--order");
      return adoption();
    }
    if (action.refund) {
      only(CaseAction.REFUND, "--amount-minor", "--payment-id", "--merchant", "--order");
      boolean named = paymentId != null || merchant != null || order != null;
      if (amountMinor != null && amountMinor <= 0) {
        throw usage("--amount-minor must be positive");
      }
      return new CaseResolution.Refund(amountMinor, named ? adoption() : null);
    }
    if (action.query) {
      only(CaseAction.QUERY);
      return new CaseResolution.Query();
    }
    if (!action.close) {
      throw new IllegalStateException("one of the group's options is given");
    }
    only(CaseAction.CLOSE);
    return new CaseResolution.Close();
  }

  private CaseResolution.Adopt adoption() {
    return new CaseResolution.Adopt(
        needed(paymentId, "--payment-id"),
        needed(merchant, "--merchant"),
        needed(order, "--order"));
  }

  /** An option that an action does not know would be believed to count. */
  private void only(CaseAction chosen, String... allowed) {
    Map<String, Object> given = new TreeMap<>();
    put(given, "--transaction-id", transactionId);
    put(given, "--amount-minor", amountMinor);
    put(given, "--currency", currency);
    put(given, "--code", code);
    put(given, "--payment-id", paymentId);
    put(given, "--merchant", merchant);
    put(given, "--order", order);
    given.keySet().removeAll(List.of(allowed));
    if (!given.isEmpty()) {
      throw usage("%s does not go with %s".formatted(given.keySet(), chosen.option()));
    }
  }

  private static void put(Map<String, Object> given, String name, @Nullable Object value) {
    if (value != null) {
      given.put(name, value);
    }
  }

  private <T> T needed(@Nullable T value, String option) {
    if (value == null) {
      throw usage(option + " is needed");
    }
    return value;
  }

  private Money money(long minor, String code) {
    if (minor <= 0) {
      throw usage("--amount-minor must be positive");
    }
    try {
      return new Money(minor, code);
    } catch (IllegalArgumentException e) {
      throw usage("--currency takes a code such as EUR");
    }
  }

  private ParameterException usage(String sentence) {
    return new ParameterException(spec.commandLine(), sentence);
  }
}
