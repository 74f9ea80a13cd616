package io.payrelay.payments.store;

import io.payrelay.localstack.TestDatabase;
import io.payrelay.localstack.TestInfra;
import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.platform.config.Secret;
import io.payrelay.platform.database.Database;
import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.Failures;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.Migrations;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.jdbi.v3.core.Jdbi;
import org.postgresql.ds.PGSimpleDataSource;

/** A migrated database, and pools of logins that hold one of Payrelay's roles each. */
final class PaymentsDatabase implements AutoCloseable {

  private static final Instant NOW = Instant.parse("2026-03-01T10:00:00Z");

  private final TestDatabase database = TestInfra.shared().newDatabase();
  private final FactStore store = new FactStore();
  final Database owner;
  final Database worker;
  final Database ingest;

  PaymentsDatabase() throws SQLException {
    PGSimpleDataSource dataSource = new PGSimpleDataSource();
    dataSource.setUrl(database.jdbcUrl());
    dataSource.setUser(database.user());
    dataSource.setPassword(database.password());
    Migrations.migrate(dataSource, EventCatalogue.builtIn());
    owner = pool(database.user(), database.password());
    owner.jdbi().useHandle(handle -> handle.execute("SELECT payrelay.open_for_upstreams()"));
    worker = poolAs("worker");
    ingest = poolAs("ingest");
  }

  private Database poolAs(String role) {
    String user = role + "_" + database.name();
    owner
        .jdbi()
        .useHandle(
            handle ->
                handle.execute(
                    "CREATE USER " + user + " LOGIN PASSWORD 's' IN ROLE payrelay_" + role));
    return pool(user, "s");
  }

  private Database pool(String user, String password) {
    return Database.open(
        new DatabaseConfig(
            database.jdbcUrl(), user, new Secret(password), 12, Duration.ofSeconds(20)),
        "test-" + user);
  }

  /** Writes a payment as an upstream would. */
  String request(String paymentId, long amountMinor) {
    return requestFrom("simulator", paymentId, amountMinor);
  }

  /** The same, of a certain provider. */
  String requestFrom(String provider, String paymentId, long amountMinor) {
    owner
        .jdbi()
        .useHandle(
            handle ->
                handle
                    .createQuery(
                        "SELECT payrelay.request_payment(?, 'shop', ?, ?, ?, 'EUR', trace_id => 'trace-1')")
                    .bind(0, paymentId)
                    .bind(1, paymentId)
                    .bind(2, provider)
                    .bind(3, amountMinor)
                    .mapTo(String.class)
                    .one());
    return paymentId;
  }

  /** Applies in one transaction. */
  List<FactStore.Applied> apply(Jdbi jdbi, List<Fact> facts) {
    return jdbi.inTransaction(tx -> store.apply(tx, facts, NOW));
  }

  /** Applies as the processes do: a batch that fails and may heal is done again, one by one. */
  void applyWithRedo(Jdbi jdbi, List<Fact> facts) {
    try {
      apply(jdbi, facts);
    } catch (RuntimeException e) {
      if (Failures.categoryOf(e) != Category.RETRIABLE) {
        throw e;
      }
      for (Fact fact : facts) {
        applyWithRedo(jdbi, List.of(fact));
      }
    }
  }

  String value(String sql) {
    return owner
        .jdbi()
        .withHandle(
            handle ->
                String.valueOf(handle.createQuery(sql).mapTo(String.class).findOne().orElse(null)));
  }

  List<String> column(String sql) {
    return owner.jdbi().withHandle(handle -> handle.createQuery(sql).mapTo(String.class).list());
  }

  @Override
  public void close() {
    ingest.close();
    worker.close();
    owner.close();
  }
}
