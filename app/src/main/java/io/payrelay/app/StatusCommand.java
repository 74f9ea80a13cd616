package io.payrelay.app;

import io.payrelay.platform.config.Settings;
import io.payrelay.platform.database.Database;
import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.io.PrintWriter;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.JdbiException;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Says how everything, or one payment, stands. Reads the database only. */
@Command(
    name = "status",
    mixinStandardHelpOptions = true,
    description = "Says how the system, or one payment, stands (as a user with payrelay_operator).")
@SuppressWarnings("NullAway.Init") // picocli injects.
final class StatusCommand implements Runnable {

  @ParentCommand private PayrelayCommand parent;
  @Spec private CommandSpec spec;

  @Parameters(arity = "0..1", paramLabel = "PAYMENT_ID", description = "one payment's history")
  private @Nullable String paymentId;

  @Override
  public void run() {
    Settings settings = AppSettings.check(parent.environment(), DatabaseConfig.SETTINGS);
    PrintWriter out = spec.commandLine().getOut();
    try (Database database = Database.open(DatabaseConfig.from(settings), "payrelay-status")) {
      database
          .jdbi()
          .useHandle(
              handle -> {
                if (paymentId == null) {
                  overview(handle, out);
                } else {
                  one(handle, paymentId, out);
                }
              });
    } catch (JdbiException e) {
      throw SqlSentences.of(e);
    }
    out.flush();
  }

  private static void overview(Handle handle, PrintWriter out) {
    print(
        out,
        "payments",
        handle,
        "SELECT status, count(*) AS count FROM payrelay.payment GROUP BY status ORDER BY status");
    print(
        out,
        "oldest payment without an end",
        handle,
        """
        SELECT payment_id, status, date_trunc('second', clock_timestamp() - updated_at) AS since
        FROM payrelay.payment WHERE status NOT IN ('SUCCEEDED', 'FAILED') ORDER BY updated_at LIMIT 1
        """);
    print(
        out,
        "replication slots",
        handle,
        """
        SELECT slot_name, active, wal_status,
          pg_size_pretty(pg_wal_lsn_diff(pg_current_wal_lsn(), confirmed_flush_lsn)) AS lag
        FROM pg_replication_slots WHERE database = current_database() AND plugin = 'pgoutput'
        """);
    print(
        out,
        "relay owners",
        handle,
        """
        SELECT slot_name, owner, lease_until > clock_timestamp() AS alive FROM payrelay.relay_owner
        """);
    print(
        out,
        "webhook events",
        handle,
        """
        SELECT disposition, count(*) AS count FROM payrelay.provider_event
        GROUP BY disposition ORDER BY disposition
        """);
    print(
        out,
        "open exception cases",
        handle,
        """
        SELECT kind, count(*) AS count, min(date_trunc('second', opened_at)) AS oldest
        FROM payrelay.exception_case WHERE status = 'OPEN' GROUP BY kind ORDER BY kind
        """);
  }

  private static void one(Handle handle, String paymentId, PrintWriter out) {
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
    table(out, "payment", payments);
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
      table(
          out,
          query.getKey().substring(2),
          handle.createQuery(query.getValue()).bind("id", paymentId).mapToMap().list());
    }
  }

  private static void print(PrintWriter out, String title, Handle handle, String sql) {
    table(out, title, handle.createQuery(sql).mapToMap().list());
  }

  private static void table(PrintWriter out, String title, List<Map<String, Object>> rows) {
    out.println(title + (rows.isEmpty() ? ": none" : ":"));
    for (Map<String, Object> row : rows) {
      StringBuilder line = new StringBuilder("  ");
      row.forEach((name, value) -> line.append(name).append('=').append(value).append("  "));
      out.println(line.toString().stripTrailing());
    }
  }
}
