package io.payrelay.app;

import io.payrelay.payments.store.Person;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.webhook.WebhookDesk;
import java.io.PrintWriter;
import java.time.Clock;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** One payment: its whole story, and a question to its provider. */
@Command(
    name = "payment",
    mixinStandardHelpOptions = true,
    description = {
      "One payment: everything that is known of it, and a question to its provider on demand.",
      "As a database user with payrelay_operator."
    })
@SuppressWarnings("NullAway.Init") // picocli injects.
final class PaymentCommand implements Runnable {

  private static final String STATEMENT_LIMIT = "SET statement_timeout = '10s'";

  @ParentCommand private PayrelayCommand parent;
  @Spec private CommandSpec spec;

  @Override
  public void run() {
    throw new ParameterException(spec.commandLine(), "Name what to do: show or query.");
  }

  @Command(
      name = "show",
      mixinStandardHelpOptions = true,
      description = {
        "The story of a payment in time order: events, operations, attempts, webhooks, postings, cases,",
        "refunds, published events, and what people did."
      })
  void show(
      @Parameters(paramLabel = "ID") String paymentId,
      @Option(names = "--bodies", description = "with bodies; all but harmless fields are hidden")
          boolean bodies,
      @Option(names = "--json", description = "print one JSON object") boolean json) {
    PaymentStory story =
        OperatorDatabase.with(
            parent.environment(),
            "payment",
            (jdbi, settings) ->
                jdbi.withHandle(
                    handle -> {
                      handle.execute(STATEMENT_LIMIT);
                      return PaymentStory.read(handle, paymentId, bodies)
                          .orElseThrow(() -> unknown(paymentId));
                    }));
    PrintWriter out = spec.commandLine().getOut();
    if (json) {
      Map<String, Object> all = new LinkedHashMap<>();
      all.put("payment", story.payment());
      all.put("story", story.entries());
      all.put("gaps", story.gaps());
      out.println(Rows.json(all));
    } else {
      out.println(Rows.line(story.payment()));
      for (Map<String, Object> entry : story.entries()) {
        Map<String, Object> rest = new LinkedHashMap<>(entry);
        out.println(
            "%s  %-13s %s".formatted(rest.remove("at"), rest.remove("what"), Rows.line(rest)));
      }
      story.gaps().forEach(gap -> out.println("not shown: " + gap));
    }
    out.flush();
  }

  @Command(
      name = "query",
      mixinStandardHelpOptions = true,
      description = {
        "Has the provider asked about a payment without an end now, waits for the answer, and says how",
        "the payment stands. Exit code 3: no answer came in time; the question stays."
      })
  int query(
      @Parameters(paramLabel = "ID") String paymentId,
      @Option(
              names = "--wait",
              paramLabel = "LENGTH",
              defaultValue = "30s",
              converter = TimeOptions.ToDuration.class,
              description = "for the answer (${DEFAULT-VALUE})")
          Duration wait,
      @Option(names = "--by", description = "for the record; the user of this session unless given")
          @Nullable String by,
      @Option(names = "--reason", defaultValue = "asked on demand", description = "for the record")
          String reason) {
    Person person =
        new Person(
            by == null || by.isBlank()
                ? System.getProperty("user.name", "unknown")
                : CardNumbers.masked(by),
            reason.isBlank() ? "asked on demand" : CardNumbers.masked(reason),
            null);
    PrintWriter out = spec.commandLine().getOut();
    return OperatorDatabase.with(
        parent.environment(),
        "payment",
        (jdbi, settings) -> {
          WebhookDesk none = new WebhookDesk(jdbi, List.of(), Clock.systemUTC(), Duration.ZERO);
          CaseOffice office = new CaseOffice(jdbi, none, Clock.systemUTC());
          CaseOffice.Answered answered =
              Questions.await(office, office.ask(paymentId, person), wait);
          out.println(Questions.sentence(answered));
          out.flush();
          return Questions.exitCode(answered);
        });
  }

  private static PayrelayException unknown(String paymentId) {
    return new PayrelayException(Category.REJECTED, "There is no payment " + paymentId);
  }
}
