package io.payrelay.app;

import io.payrelay.localstack.TestDatabase;
import io.payrelay.localstack.TestInfra;
import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.money.Money;
import io.payrelay.payments.store.FactStore;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.Migrations;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.sql.SQLException;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.jdbi.v3.core.Jdbi;
import org.jspecify.annotations.Nullable;
import org.postgresql.ds.PGSimpleDataSource;
import picocli.CommandLine;

/** A migrated database and commands run by a login that has the operator's role and no other. */
final class OperatorFixture {

  private static final AtomicInteger IDS = new AtomicInteger();

  final Jdbi owner;
  final Jdbi operator;
  final String login;
  private final Map<String, String> environment = new HashMap<>();

  /** How a command ended. */
  record Result(int exitCode, String out, String err) {}

  OperatorFixture() {
    TestDatabase database = TestInfra.shared().newDatabase();
    PGSimpleDataSource source = new PGSimpleDataSource();
    source.setUrl(database.jdbcUrl());
    source.setUser(database.user());
    source.setPassword(database.password());
    owner = Jdbi.create(source);
    login = "operator_" + Long.toHexString(System.nanoTime());
    try {
      Migrations.migrate(source, EventCatalogue.builtIn());
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
    owner.useHandle(
        handle -> {
          handle.execute("SELECT payrelay.open_for_upstreams()");
          handle.execute(
              "CREATE ROLE " + login + " LOGIN PASSWORD 'any' IN ROLE payrelay_operator");
        });
    operator = Jdbi.create(database.jdbcUrl(), login, "any");
    environment.put("PAYRELAY_DATABASE_URL", database.jdbcUrl());
    environment.put("PAYRELAY_DATABASE_USER", login);
    environment.put("PAYRELAY_DATABASE_PASSWORD", "any");
    environment.put("PAYRELAY_DATABASE_POOL_SIZE_MAX", "2");
  }

  Result run(String... arguments) {
    return run(environment, arguments);
  }

  /** With another setting than the ingest has. */
  Result runWith(String variable, String value, String... arguments) {
    Map<String, String> other = new HashMap<>(environment);
    other.put(variable, value);
    return run(other, arguments);
  }

  private static Result run(Map<String, String> environment, String... arguments) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    CommandLine commandLine = CommandLines.of(new PayrelayCommand(environment));
    commandLine.setOut(new PrintWriter(out));
    commandLine.setErr(new PrintWriter(err));
    return new Result(commandLine.execute(arguments), out.toString(), err.toString());
  }

  /** Resolves as anna, for a reason. */
  Result resolve(long caseId, String... action) {
    String[] arguments = new String[action.length + 9];
    String[] head = {
      "exceptions",
      "resolve",
      Long.toString(caseId),
      "--by",
      "anna",
      "--reason",
      "seen at the provider",
      "--evidence",
      "ticket 7"
    };
    System.arraycopy(head, 0, arguments, 0, head.length);
    System.arraycopy(action, 0, arguments, head.length, action.length);
    return run(arguments);
  }

  /** A new payment of 19.99 EUR. */
  String payment() {
    String id = "pay_" + IDS.incrementAndGet() + "_" + Long.toHexString(System.nanoTime());
    owner.useHandle(
        handle ->
            handle
                .createQuery(
                    """
                    SELECT payrelay.request_payment(:id, 'shop', :id, 'simulator', 1999, 'EUR',
                      customer_id => 'canary-customer', trace_id => 'trace_1')
                    """)
                .bind("id", id)
                .mapTo(String.class)
                .one());
    return id;
  }

  /** A payment in UNKNOWN whose operation was given up, past its key's life; returns its case. */
  long unresolved(String paymentId) {
    execute(
        """
        INSERT INTO payrelay.operation (payment_id, kind, provider, idempotency_key, request_body,
          request_digest, call_count, query_count, key_safe_until, resolve_until)
        VALUES (?, 'CHARGE', 'simulator', gen_random_uuid()::text,
          '{"amount":1999,"email":"canary@example.org"}', sha256('b'), 1, 5,
          clock_timestamp() - interval '1 hour', clock_timestamp() - interval '1 hour')
        """,
        paymentId);
    execute(
        """
        INSERT INTO payrelay.attempt (operation_id, attempt_number, kind, lease_owner, lease_until,
          started_at, finished_at, outcome, http_status, response_body)
        SELECT operation_id, 1, 'CALL', 'w', now(), clock_timestamp(), clock_timestamp(), 'UNKNOWN', 502,
          '<html>canary</html>'
        FROM payrelay.operation WHERE payment_id = ?
        """,
        paymentId);
    fact(paymentId, FactSource.RESPONSE, Observation.UNKNOWN, null, null);
    fact(paymentId, FactSource.WORKER, Observation.UNRESOLVED, null, null);
    return openCase(paymentId);
  }

  void fact(
      String paymentId,
      FactSource source,
      Observation observation,
      @Nullable String transactionId,
      @Nullable Money amount) {
    Fact fact =
        new Fact(
            source,
            "simulator",
            paymentId,
            observation,
            transactionId,
            amount,
            null,
            null,
            observation == Observation.FAILED ? "declined" : null,
            InstantSource.system().instant(),
            Map.of());
    owner.useTransaction(
        tx -> new FactStore().apply(tx, List.of(fact), InstantSource.system().instant()));
  }

  long openCase(String paymentId) {
    return Long.parseLong(
        text(
            """
            SELECT exception_case_id FROM payrelay.exception_case
            WHERE payment_id = ? AND status = 'OPEN' ORDER BY 1 DESC LIMIT 1
            """,
            paymentId));
  }

  String status(String paymentId) {
    return text("SELECT status FROM payrelay.payment WHERE payment_id = ?", paymentId);
  }

  String text(String sql, Object... arguments) {
    return owner.withHandle(
        handle -> handle.select(sql, arguments).mapTo(String.class).findFirst().orElse("none"));
  }

  void execute(String sql, Object... arguments) {
    owner.useHandle(handle -> handle.execute(sql, arguments));
  }
}
