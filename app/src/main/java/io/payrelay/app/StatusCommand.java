package io.payrelay.app;

import io.payrelay.chargeworker.ChargeConfig;
import io.payrelay.platform.config.Settings;
import io.payrelay.platform.database.Database;
import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.relay.RelayConfig;
import java.io.PrintWriter;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.JdbiException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Says how everything, or one payment, stands. It reads only, as a person with least rights. */
@Command(
    name = "status",
    mixinStandardHelpOptions = true,
    description = {
      "Says how the system, or one payment, stands (as a user with payrelay_operator).",
      "Exit code 0 where database and Kafka answered, 3 where one did not; warnings do not change it."
    })
@SuppressWarnings("NullAway.Init") // picocli injects.
final class StatusCommand implements Callable<Integer> {

  private static final String STATEMENT_LIMIT = "SET statement_timeout = '10s'";

  @ParentCommand private PayrelayCommand parent;
  @Spec private CommandSpec spec;

  @Option(names = "--json", description = "print one JSON object")
  private boolean json;

  @Parameters(arity = "0..1", paramLabel = "PAYMENT_ID", description = "one payment's history")
  private @Nullable String paymentId;

  @Override
  public Integer call() {
    Settings settings = AppSettings.check(parent.environment(), AppSettings.STATUS);
    StatusReport report = new StatusReport();
    try (Database database = Database.open(DatabaseConfig.from(settings), "payrelay-status");
        Handle handle = database.jdbi().open()) {
      handle.execute(STATEMENT_LIMIT);
      if (paymentId == null) {
        RelayStatus.database(handle, RelayConfig.from(settings), report);
        payments(handle, report);
      } else {
        one(handle, paymentId, report);
      }
    } catch (JdbiException e) {
      failed(SqlSentences.of(e), report);
    } catch (PayrelayException e) {
      failed(e, report);
    }
    if (paymentId == null) {
      kafka(settings, report);
    }
    PrintWriter out = spec.commandLine().getOut();
    if (json) {
      report.printJson(out);
    } else {
      report.print(out, spec.commandLine().getErr());
    }
    return report.exitCode();
  }

  /** The rest is worth seeing where the database is away; one payment is not. */
  private void failed(PayrelayException failure, StatusReport report) {
    if (paymentId != null) {
      throw failure;
    }
    report.failure(
        String.valueOf(failure.getMessage()),
        failure.category() == Category.RETRIABLE
            ? CommandLines.EXIT_RETRIABLE
            : CommandLines.EXIT_FATAL);
  }

  private void kafka(Settings settings, StatusReport report) {
    if (parent.environment().getOrDefault(KafkaConfig.BOOTSTRAP_SERVERS.name(), "").isBlank()) {
      report.warning(KafkaConfig.BOOTSTRAP_SERVERS.name() + " is not set: Kafka was not asked");
      return;
    }
    RelayStatus.kafka(
        KafkaConfig.from(AppSettings.check(parent.environment(), KafkaConfig.SETTINGS)),
        RelayConfig.from(settings),
        settings.read(ChargeConfig.GROUP_ID),
        report);
  }

  private static void payments(Handle handle, StatusReport report) {
    print(
        report,
        "payments",
        handle,
        "SELECT status, count(*) AS count FROM payrelay.payment GROUP BY status ORDER BY status");
    print(
        report,
        "oldest payment without an end",
        handle,
        """
        SELECT payment_id, status, date_trunc('second', clock_timestamp() - updated_at) AS since
        FROM payrelay.payment WHERE status NOT IN ('SUCCEEDED', 'FAILED') ORDER BY updated_at LIMIT 1
        """);
    print(
        report,
        "charges without an end",
        handle,
        """
        SELECT p.provider, count(*) AS count, count(*) FILTER (WHERE p.status = 'UNKNOWN') AS unknown,
          date_trunc('second', max(clock_timestamp() - p.updated_at) FILTER (WHERE p.status = 'UNKNOWN')) AS oldest_unknown,
          count(*) FILTER (WHERE o.next_action_at <= clock_timestamp()) AS due,
          count(*) FILTER (WHERE EXISTS (SELECT FROM payrelay.attempt a
            WHERE a.operation_id = o.operation_id AND a.finished_at IS NULL)) AS in_flight,
          min(o.key_safe_until) FILTER (WHERE o.next_action IS NOT NULL) AS first_key_safe_until
        FROM payrelay.payment p LEFT JOIN payrelay.operation o
          ON o.payment_id = p.payment_id AND o.kind = 'CHARGE'
        WHERE p.status IN ('CREATED', 'PENDING', 'UNKNOWN') GROUP BY p.provider ORDER BY p.provider
        """);
    print(
        report,
        "webhook events",
        handle,
        """
        SELECT disposition, count(*) AS count FROM payrelay.provider_event
        GROUP BY disposition ORDER BY disposition
        """);
    print(
        report,
        "open exception cases",
        handle,
        """
        SELECT kind, count(*) AS count, min(date_trunc('second', opened_at)) AS oldest
        FROM payrelay.exception_case WHERE status = 'OPEN' GROUP BY kind ORDER BY kind
        """);
  }

  private static void one(Handle handle, String paymentId, StatusReport report) {
    List<Map<String, Object>> payments =
        handle
            .createQuery(
                """
                SELECT payment_id, status, version, amount_minor, currency, provider,
                  provider_transaction_id, failure_code, trace_id, created_at
                FROM payrelay.payment WHERE payment_id = :id
                """)
            .bind("id", paymentId)
            .mapToMap()
            .list();
    if (payments.isEmpty()) {
      throw new PayrelayException(Category.REJECTED, "There is no payment " + paymentId);
    }
    report.section("payment", payments);
    for (Map.Entry<String, String> query :
        new TreeMap<>(
                Map.of(
                    "1 what happened",
                    """
                    SELECT event_at, event_type, version, fact_source FROM payrelay.payment_event
                    WHERE payment_id = :id ORDER BY payment_event_id
                    """,
                    "2 attempts",
                    """
                    SELECT a.attempt_number, a.kind, a.started_at, a.outcome, a.http_status, a.detail
                    FROM payrelay.attempt a JOIN payrelay.operation o USING (operation_id)
                    WHERE o.payment_id = :id ORDER BY a.attempt_id
                    """,
                    "3 webhook events",
                    """
                    SELECT received_at, event_type, disposition, delivery_count
                    FROM payrelay.provider_event WHERE payment_id = :id ORDER BY received_at
                    """,
                    "4 exception cases",
                    """
                    SELECT opened_at, kind, status, observed_amount_minor, observed_currency,
                      provider_transaction_id
                    FROM payrelay.exception_case WHERE payment_id = :id ORDER BY opened_at
                    """))
            .entrySet()) {
      report.section(
          query.getKey().substring(2),
          handle.createQuery(query.getValue()).bind("id", paymentId).mapToMap().list());
    }
  }

  private static void print(StatusReport report, String title, Handle handle, String sql) {
    report.section(title, handle.createQuery(sql).mapToMap().list());
  }
}
