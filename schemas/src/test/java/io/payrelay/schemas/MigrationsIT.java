package io.payrelay.schemas;

import static io.payrelay.schemas.MigratedDatabase.rows;
import static io.payrelay.schemas.MigratedDatabase.run;
import static io.payrelay.schemas.MigratedDatabase.value;
import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.localstack.TestDatabase;
import io.payrelay.localstack.TestInfra;
import java.sql.Connection;
import java.sql.DriverManager;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class MigrationsIT {

  @Test
  void isHarmlessTwice() throws Exception {
    MigratedDatabase database = MigratedDatabase.open();
    try (Connection owner = database.owner()) {
      run(
          owner,
          "SELECT payrelay.request_payment('kept_0001', 'shop', 'o', 'simulator', 1, 'EUR')");

      int applied = Migrations.migrate(database.dataSource(), EventCatalogue.builtIn());

      assertThat(applied).isZero();
      assertThat(value(owner, "SELECT count(*) FROM payrelay.payment")).isEqualTo("1");
      assertThat(
              rows(owner, "SELECT event_type, topic, upstream FROM payrelay.event_type ORDER BY 1"))
          .containsExactly(
              "ChargeRequested|payrelay.charge-requests|t",
              "PaymentStatusChanged|payrelay.payment-status|f",
              "RefundRequested|payrelay.refund-requests|t",
              "RefundStatusChanged|payrelay.refund-status|f");
    }
  }

  @Test
  void tellsWhetherTheSchemaIsTheOneOfThisBuild() throws Exception {
    TestDatabase empty = TestInfra.shared().newDatabase();
    try (Connection connection =
        DriverManager.getConnection(empty.jdbcUrl(), empty.user(), empty.password())) {
      assertThat(Migrations.problem(connection)).contains("run `payrelay migrate` first");
    }
    MigratedDatabase database = MigratedDatabase.open();
    for (String role : List.of("relay", "worker", "ingest", "operator")) {
      try (Connection process = database.as(role)) {
        assertThat(Migrations.problem(process)).as(role).isNull();
      }
    }
    try (Connection owner = database.owner()) {
      run(owner, "DELETE FROM payrelay.schema_history WHERE version > '0001'");

      assertThat(Migrations.problem(owner))
          .contains("The database schema has version 0001, this build needs " + Migrations.LATEST);
    }
  }

  @Test
  void givesProcessesNoMoreThanTheyNeed() throws Exception {
    MigratedDatabase database = MigratedDatabase.open();
    try (Connection owner = database.owner()) {
      // Nobody but the owner may remove anything, or change evidence.
      assertThat(
              rows(
                  owner,
                  """
                  SELECT grantee, table_name, privilege_type FROM information_schema.role_table_grants
                  WHERE table_schema = 'payrelay' AND grantee LIKE 'payrelay\\_%'
                    AND (privilege_type IN ('DELETE', 'TRUNCATE', 'TRIGGER', 'REFERENCES')
                      OR privilege_type = 'UPDATE' AND table_name NOT IN ('operation', 'attempt',
                        'relay_owner', 'dead_letter_progress'))
                  """))
          .isEmpty();
      assertThat(
              rows(
                  owner,
                  """
                  SELECT table_name, column_name FROM information_schema.column_privileges
                  WHERE table_schema = 'payrelay' AND grantee = 'payrelay_upstream'
                    AND privilege_type <> 'INSERT' AND table_name NOT IN ('currency', 'event_type')
                  """))
          .isEmpty();
      // Functions that run as the owner must not look into schemas of others.
      assertThat(
              rows(
                  owner,
                  """
                  SELECT proname FROM pg_proc WHERE pronamespace = 'payrelay'::regnamespace AND prosecdef
                    AND NOT coalesce(proconfig, '{}') @> ARRAY['search_path=payrelay, pg_temp']
                  """))
          .isEmpty();
    }
  }
}
