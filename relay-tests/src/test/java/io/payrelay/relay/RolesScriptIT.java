package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.payrelay.localstack.TestDatabase;
import io.payrelay.localstack.TestInfra;
import io.payrelay.schemas.RolesScript;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(90)
class RolesScriptIT {

  @Test
  void scriptMakesRolesWithWhichEverythingRunsAndNothingMore() throws Exception {
    TestDatabase database = TestInfra.shared().newDatabase();
    // Twice: it can be run again.
    as(database, database.user(), RolesScript.text());
    as(database, database.user(), RolesScript.text());
    try (RelayFixture fixture =
        new RelayFixture(
            database.jdbcUrl(),
            "payrelay_owner",
            TestInfra.shared().bootstrapServers(),
            Map.of())) {
      fixture.bootstrap(step -> {}).run();
      try (OutboxOracle oracle = fixture.oracle()) {
        Relay relay = fixture.start("relay", RelayFaults.NONE);
        RelayFixture.awaitState(relay, RelayState.ACTIVE);
        as(
            database,
            "shop",
            "SELECT payrelay.request_payment('pay_000000000001', 'm', 'o', 'simulator', 100, 'EUR')");

        assertThat(oracle.await(Duration.ofSeconds(20)).clean()).isTrue();
      }

      refused(database, "relay", "SELECT FROM payrelay.payment");
      refused(database, "relay", "DELETE FROM payrelay.outbox");
      refused(database, "relay", "CREATE TABLE mine ()");
      refused(database, "shop", "SELECT FROM payrelay.outbox");
      refused(database, "shop", "SELECT pg_logical_emit_message(true, 'payrelay', 'x')");
      refused(database, "shop", "SELECT pg_create_logical_replication_slot('x', 'pgoutput')");
      refused(database, "charge_worker", "UPDATE payrelay.payment_event SET payment_id = 'x'");
      refused(database, "webhook_ingest", "SELECT FROM payrelay.relay_owner");
      as(database, database.user(), "CREATE ROLE stranger LOGIN");
      assertThatThrownBy(() -> as(database, "stranger", "SELECT 1"))
          .hasMessageContaining("permission denied for database");
      as(database, database.user(), "DROP ROLE stranger");
    }
  }

  private static void refused(TestDatabase database, String user, String sql) {
    assertThatThrownBy(() -> as(database, user, sql))
        .as("%s: %s", user, sql)
        .isInstanceOfSatisfying(
            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("42501"));
  }

  private static void as(TestDatabase database, String user, String sql) throws SQLException {
    try (Connection connection = DriverManager.getConnection(database.jdbcUrl(), user, "any");
        Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }
}
