package io.payrelay.app;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.payrelay.localstack.TestDatabase;
import io.payrelay.localstack.TestInfra;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import picocli.CommandLine;

/** {@code relay recover} and {@code republish} as a person runs them. */
@Timeout(120)
final class RecoverCommandIT {

  private final TestInfra infra = TestInfra.shared();
  private final TestDatabase database = infra.newDatabase();
  private final String slot = "slot_" + database.name();
  private final Map<String, String> environment = new HashMap<>();

  private record Result(int exitCode, String out, String err) {}

  @BeforeEach
  void migrate() {
    environment.put("PAYRELAY_DATABASE_URL", database.jdbcUrl());
    environment.put("PAYRELAY_DATABASE_USER", database.user());
    environment.put("PAYRELAY_DATABASE_PASSWORD", database.password());
    environment.put("PAYRELAY_KAFKA_BOOTSTRAP_SERVERS", infra.bootstrapServers());
    environment.put("PAYRELAY_RELAY_SLOT_NAME", slot);
    Parts.migrate(environment);
  }

  @AfterEach
  void dropSlot() throws SQLException {
    execute("SELECT pg_drop_replication_slot('%s')".formatted(slot));
  }

  @Test
  void aLostSlotIsRecoveredByTheCommandAndStoredEventsAreSentAgain() throws Exception {
    try (Part relay = Parts.relay(environment)) {
      await().atMost(Duration.ofSeconds(60)).until(() -> relay.readiness().equals("ok"));
      Result beside = run("relay", "recover", "--execute");
      assertThat(beside.exitCode()).isEqualTo(CommandLines.EXIT_FATAL);
      assertThat(beside.err()).contains("A relay is active on slot " + slot);
    }
    execute("SELECT pg_drop_replication_slot('%s')".formatted(slot));
    execute(
        """
        INSERT INTO payrelay.outbox (aggregate_type, aggregate_id, event_type, payload)
        SELECT 'payment', 'p' || n, 'ChargeRequested', json_build_object('payment_id', 'p', 'merchant', 'm',
          'merchant_order_id', 'o', 'provider', 'x', 'amount_minor', n, 'currency', 'EUR')
        FROM generate_series(1, 3) n
        """);

    Result planned = run("relay", "recover");
    assertThat(planned.exitCode()).as(planned.err()).isZero();
    assertThat(planned.out())
        .contains(
            "is gone", "missing:       3 rows", "Nothing was changed. To do it, add --execute");
    Result done = run("relay", "recover", "--execute");
    assertThat(done.exitCode()).as(done.err()).isZero();
    assertThat(done.out()).contains("3 rows published, position written; the relay can start");
    assertThat(run("relay", "recover", "--execute").out()).contains("the relay can start");

    String[] again = {
      "republish", "--from", "2020-01-01T00:00:00Z", "--to", Instant.now().toString(), "--execute"
    };
    Result sent = run(again);
    assertThat(sent.exitCode()).as(sent.err()).isZero();
    assertThat(sent.out()).contains("payrelay.charge-requests ChargeRequested: 3", "3 events sent");
    again[5] = "--max-events=2";
    Result tooMany = run(again);
    assertThat(tooMany.exitCode()).isEqualTo(CommandLines.EXIT_FATAL);
    assertThat(tooMany.err()).contains("raise --max-events");
  }

  private void execute(String sql) throws SQLException {
    try (Connection connection =
            DriverManager.getConnection(database.jdbcUrl(), database.user(), database.password());
        Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  private Result run(String... arguments) {
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    CommandLine commandLine = CommandLines.of(new PayrelayCommand(environment));
    commandLine.setOut(new PrintWriter(out));
    commandLine.setErr(new PrintWriter(err));
    int exitCode = commandLine.execute(arguments);
    return new Result(exitCode, out.toString(), err.toString());
  }
}
