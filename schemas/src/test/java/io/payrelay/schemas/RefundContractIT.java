package io.payrelay.schemas;

import static io.payrelay.schemas.MigratedDatabase.refused;
import static io.payrelay.schemas.MigratedDatabase.rows;
import static io.payrelay.schemas.MigratedDatabase.run;
import static io.payrelay.schemas.MigratedDatabase.value;
import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.localstack.TestDatabase;
import io.payrelay.localstack.TestInfra;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.awaitility.Awaitility;
import org.flywaydb.core.Flyway;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.ds.PGSimpleDataSource;
import org.postgresql.util.PSQLException;

/** What docs/sql-contract.md promises of refunds, as a login with payrelay_upstream alone. */
@Timeout(120)
class RefundContractIT {

  private static MigratedDatabase database;
  private static int numbers;

  private Connection upstream;
  private Connection owner;
  private String payment;
  private String refund;
  private String transaction;

  @BeforeAll
  static void migrate() throws SQLException {
    database = MigratedDatabase.open();
  }

  @BeforeEach
  void capture() throws SQLException {
    upstream = database.as("upstream");
    owner = database.owner();
    payment = "pay_%06d".formatted(++numbers);
    refund = "ref_%06d".formatted(numbers);
    transaction = "tx_" + payment;
    run(
        owner,
        "SELECT payrelay.request_payment('%s', 'shop', '%s', 'simulator', 1000, 'EUR')"
            .formatted(payment, payment));
    in("capture:simulator:" + transaction, "CAPTURE", 1000, "EUR");
  }

  @AfterEach
  void disconnect() throws SQLException {
    upstream.close();
    owner.close();
  }

  private void in(String key, String kind, long amount, String currency) throws SQLException {
    book(
        key,
        kind,
        "PROVIDER_RECEIVABLE",
        kind.equals("CAPTURE") ? "CUSTOMER_PAYMENTS" : "SUSPENSE",
        amount,
        currency);
  }

  private void out(String key, String kind, long amount) throws SQLException {
    book(
        key,
        kind,
        kind.equals("DISPUTE") ? "SUSPENSE" : "REFUNDS",
        "PROVIDER_RECEIVABLE",
        amount,
        "EUR");
  }

  private void book(
      String key, String kind, String debit, String credit, long amount, String currency)
      throws SQLException {
    owner.setAutoCommit(false);
    for (String account : List.of(debit, credit)) {
      run(
          owner,
          "INSERT INTO payrelay.ledger_account VALUES ('%s:%s', '%1$s', 'simulator', '%2$s') ON CONFLICT DO NOTHING"
              .formatted(account, currency));
    }
    run(
        owner,
        """
        WITH p AS (INSERT INTO payrelay.ledger_posting (business_key, kind, payment_id, event_at, reverses_posting_id)
          VALUES ('%s', '%s', '%s', now(), (SELECT posting_id FROM payrelay.ledger_posting
            WHERE 'returned:' || business_key = '%1$s')) RETURNING posting_id)
        INSERT INTO payrelay.ledger_entry SELECT posting_id, 1, '%s:%s', 'DEBIT', %d, '%5$s' FROM p
        UNION ALL SELECT posting_id, 2, '%s:%5$s', 'CREDIT', %6$d, '%5$s' FROM p
        """
            .formatted(key, kind, payment, debit, currency, amount, credit));
    owner.commit();
    owner.setAutoCommit(true);
  }

  private String inserted(String id, long amount, String currency, String source) {
    return ("INSERT INTO payrelay.refund (refund_id, payment_id, amount_minor, currency,"
            + " provider_transaction_id) VALUES ('%s', '%s', %d, '%s', %s)")
        .formatted(id, payment, amount, currency, source);
  }

  private String requested(String id, long amount, String more) {
    return "SELECT payrelay.request_refund('%s', '%s', %d, 'EUR'%s)"
        .formatted(id, payment, amount, more);
  }

  private String refundable() throws SQLException {
    return value(
        owner,
        "SELECT string_agg(refundable_minor::text, ',' ORDER BY provider_transaction_id)"
            + " FROM payrelay.refundable('%s')".formatted(payment));
  }

  private void move(String id, String status, int version) throws SQLException {
    run(
        owner,
        ("UPDATE payrelay.refund SET status = '%s', version = %d, failure_code = 'c',"
                + " provider_refund_id = 're_' || refund_id WHERE refund_id = '%s'")
            .formatted(status, version, id));
  }

  @Test
  void writesBothByRequestRefundAndOnceOnly() throws Exception {
    String call = requested(refund, 400, ", business_refs => '{\"a\": 1}', trace_id => 't1'");

    assertThat(value(upstream, call)).isEqualTo(refund);
    assertThat(value(upstream, call)).isEqualTo(refund);
    // The transaction that was filled in may be named.
    assertThat(
            value(
                upstream,
                call.replace("'EUR'", "'EUR', provider_transaction_id => '" + transaction + "'")))
        .isEqualTo(refund);

    assertThat(
            value(
                owner,
                "SELECT status, version, provider, provider_transaction_id, refund_number"
                    + " FROM payrelay.refund WHERE refund_id = '%s'".formatted(refund)))
        .isEqualTo("REQUESTED|1|simulator|" + transaction + "|1");
    assertThat(
            rows(
                owner,
                ("SELECT payload FROM payrelay.outbox WHERE aggregate_id = '%s'"
                        + " AND aggregate_type = 'payment' AND event_type = 'RefundRequested'")
                    .formatted(payment)))
        .hasSize(1)
        .allSatisfy(
            payload ->
                assertThat(
                        new EventCodec(EventCatalogue.builtIn()).encode("RefundRequested", payload))
                    .isNotEmpty());
    assertThat(
            value(
                owner,
                ("SELECT event_type, version, status, fact_source FROM payrelay.refund_event"
                        + " WHERE refund_id = '%s'")
                    .formatted(refund)))
        .isEqualTo("RefundRequested|1|REQUESTED|UPSTREAM");
    assertThat(refundable()).isEqualTo("600");
  }

  @Test
  void takesPlainInsertsUnderTheSameRules() throws SQLException {
    run(upstream, inserted(refund, 400, "EUR", "NULL"));

    refused(upstream, inserted(refund, 400, "EUR", "NULL"), "23505", "exists: your first try had");
    refused(
        upstream,
        inserted(refund + "b", 601, "EUR", "NULL"),
        "23514",
        "refund %sb asks for 601 EUR of transaction %s: 600 of the 1000 captured can still be given back"
            .formatted(refund, transaction));
    // Several rows of one statement see each other.
    refused(
        upstream,
        inserted(refund + "b", 400, "EUR", "NULL")
            + ", ('%sc', '%s', 400, 'EUR', NULL)".formatted(refund, payment),
        "23514",
        "200 of the 1000 captured");
    run(
        upstream,
        "INSERT INTO payrelay.outbox (aggregate_type, aggregate_id, event_type, payload)"
            + " VALUES ('payment', '%s', 'RefundRequested', '{}')".formatted(payment));
    assertThat(refundable()).isEqualTo("600");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "'ref', '%s', 1, 'EUR' | 23514 | refund_id 'ref' is not 6 to 32 of the characters",
        "NULL, '%s', 1, 'EUR' | 23514 | refund_id NULL is not 6 to 32 of the characters",
        "'bad_00001', '%s', 0, 'EUR' | 23514 | amount_minor 0 of refund bad_00001 is not a positive",
        "'bad_00001', '%s', -5, 'EUR' | 23514 | amount_minor -5 of refund",
        "'bad_00001', '%s', NULL, 'EUR' | 23514 | amount_minor NULL of refund",
        "'bad_00001', '%s', 1, 'USD' | 23514 | currency 'USD' of refund bad_00001 is not EUR, in which transaction",
        "'bad_00001', '%s', 1, NULL | 23514 | currency NULL of refund bad_00001 is not EUR",
        "'bad_00001', '%s', 1001, 'EUR' | 23514 | 1000 of the 1000 captured can still be given back",
        "'bad_00001', 'nobody_01', 1, 'EUR' | 23503 | refund bad_00001 is for payment 'nobody_01', which does not exist",
        "'bad_00001', NULL, 1, 'EUR' | 23503 | refund bad_00001 is for payment NULL, which does not exist",
        "'bad_00001', '%s', 1, 'EUR', 'tx_other' | 23514 | has no captured transaction 'tx_other' that refund bad_00001 could give back: it has tx_",
        "'bad_00001', '%s', 1, 'EUR', NULL, '4111 1111 1111 1111' | 23514 | holds digits that look like a card number",
        "'bad_00001', '%s', 1, 'EUR', NULL, '' | 23514 | refund_reason_length",
        "'bad_00001', '%s', 1, 'EUR', NULL, NULL, '[]' | 23514 | refund_business_refs_object",
        "'bad_00001', '%s', 1, 'EUR', NULL, NULL, '{}', 'a b' | 23514 | refund_trace_id_form",
      })
  void refusesWithASentence(String values, String sqlState, String sentence) {
    // Source: hyperswitch PR 11491, eventyay #1405 (a negative refund was accepted).
    String all = values.formatted(payment);
    refused(upstream, "SELECT payrelay.request_refund(" + all + ")", sqlState, sentence);
    List<String> columns =
        List.of(
            "refund_id",
            "payment_id",
            "amount_minor",
            "currency",
            "provider_transaction_id",
            "reason",
            "business_refs",
            "trace_id");
    refused(
        upstream,
        "INSERT INTO payrelay.refund (%s) VALUES (%s)"
            .formatted(String.join(", ", columns.subList(0, all.split(", ").length)), all),
        sqlState,
        sentence);
  }

  /** Operators ask under the number of a case: nobody else can take that id from them. */
  @Test
  void reservesTheIdsThatOperatorsAskUnder() throws SQLException {
    String ofCase = "refund_case_%d".formatted(numbers);
    String adopted = "adopted_%d".formatted(numbers);
    String pay =
        "SELECT payrelay.request_payment('%s', 'shop', '%<s', 'simulator', 10, 'EUR')"
            .formatted(adopted);
    String sentence = "_id %s is reserved: what begins with ";

    for (String sql : List.of(inserted(ofCase, 1, "EUR", "NULL"), requested(ofCase, 1, ""))) {
      PSQLException refusal = refused(upstream, sql, "23514", sentence.formatted(ofCase));
      assertThat(refusal.getServerErrorMessage().getConstraint())
          .isEqualTo("refund_id_not_reserved");
    }
    PSQLException refusal = refused(upstream, pay, "23514", sentence.formatted(adopted));
    assertThat(refusal.getServerErrorMessage().getConstraint())
        .isEqualTo("payment_id_not_reserved");

    try (Connection operator = database.as("operator")) {
      run(operator, requested(ofCase, 1, ""));
    }
    run(owner, pay);
    assertThat(refundable()).isEqualTo("999");
    // A part of the reserved form is anybody's.
    run(upstream, requested("refund_cases_%d".formatted(numbers), 1, ""));
  }

  @Test
  void refusesWhereNothingIsCaptured() throws SQLException {
    // Source: Apache Seata's rule for a compensation that comes before what it compensates.
    run(
        owner,
        "SELECT payrelay.request_payment('%sx', 'shop', '%<sx', 'simulator', 1000, 'EUR')"
            .formatted(payment));

    refused(
        upstream,
        requested(refund, 1, "").replace(payment, payment + "x"),
        "23514",
        "payment %sx is CREATED and no money is captured for it: there is nothing that refund %s could give back"
            .formatted(payment, refund));
  }

  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '`',
      value = {
        "`, 401, 'EUR'`, amount_minor",
        "`, 400, 'USD'`, currency",
        "`, 400, 'EUR', 'tx_other'`, provider_transaction_id",
        "`, 400, 'EUR', NULL, 'why'`, reason",
        "`, 400, 'EUR', business_refs => '{\"a\": 1}'`, business_refs",
        "`, 400, 'EUR', trace_id => 't'`, trace_id",
      })
  void refusesARepeatedCallWithOtherArguments(String arguments, String differing)
      throws SQLException {
    run(upstream, requested(refund, 400, ""));

    // Source: WeChat Pay community 00064e762645e0159ccf11bbd5b000 (an id used for a second part).
    refused(
        upstream,
        "SELECT payrelay.request_refund('%s', '%s'%s)".formatted(refund, payment, arguments),
        "23505",
        "exists with another " + differing + ": a refund_id names one refund for good");
  }

  @Test
  void givesBackMoneyInSuspenseByItsTransaction() throws SQLException {
    in("capture:simulator:tx_double_" + payment, "SUSPENSE_CAPTURE", 1000, "EUR");
    in("capture:simulator:tx_usd_" + payment, "SUSPENSE_CAPTURE", 70, "USD");

    refused(
        upstream,
        requested(refund, 1, ""),
        "23514",
        ("has 3 captured transactions: name in provider_transaction_id which of them refund %s gives back:"
                + " %s (1000 EUR, refundable 1000), tx_double_%s (1000 EUR, refundable 1000), tx_usd_%3$s (70 USD, refundable 70)")
            .formatted(refund, transaction, payment));
    run(upstream, requested(refund, 1000, ", 'tx_double_%s'".formatted(payment)));
    run(upstream, inserted(refund + "u", 70, "USD", "'tx_usd_%s'".formatted(payment)));
    assertThat(refundable()).isEqualTo("0,1000,0");
  }

  @Test
  void countsWhatIsGoneAndWhatCameBack() throws SQLException {
    String reference = ":simulator:" + transaction + ":";
    out("provider_refund" + reference + "re_1", "PROVIDER_REFUND", 100);
    assertThat(refundable()).isEqualTo("900");
    out("dispute" + reference + "dp_1", "DISPUTE", 300);
    assertThat(refundable()).isEqualTo("600");
    book(
        "dispute_lost" + reference + "dp_1",
        "DISPUTE_LOST",
        "CUSTOMER_PAYMENTS",
        "SUSPENSE",
        300,
        "EUR");
    assertThat(refundable()).isEqualTo("600");
    out("dispute" + reference + "dp_2", "DISPUTE", 500);
    assertThat(refundable()).isEqualTo("100");
    book(
        "dispute_won" + reference + "dp_2",
        "DISPUTE_WON",
        "PROVIDER_RECEIVABLE",
        "SUSPENSE",
        500,
        "EUR");
    assertThat(refundable()).isEqualTo("600");

    // One that failed takes nothing, one that succeeded is counted once, by its posting.
    run(upstream, requested(refund, 600, ""));
    assertThat(refundable()).isEqualTo("0");
    move(refund, "FAILED", 2);
    assertThat(refundable()).isEqualTo("600");
    run(upstream, requested(refund + "b", 600, ""));
    move(refund + "b", "UNKNOWN", 2);
    assertThat(refundable()).isEqualTo("0");
    out("provider_refund" + reference + "re_" + refund + "b", "REFUND", 600);
    move(refund + "b", "SUCCEEDED", 3);
    assertThat(refundable()).isEqualTo("0");
    book(
        "returned:provider_refund" + reference + "re_" + refund + "b",
        "REFUND_RETURNED",
        "PROVIDER_RECEIVABLE",
        "REFUNDS",
        600,
        "EUR");
    move(refund + "b", "RETURNED", 4);
    assertThat(refundable()).isEqualTo("600");
  }

  @ParameterizedTest
  @ValueSource(strings = {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"})
  void letsOneOfTwoConcurrentRequestsForMoreThanTheRestThrough(String isolation) throws Exception {
    // Source: hyperswitch #13182 (two refunds of 60% each).
    upstream.setAutoCommit(false);
    run(upstream, "SET TRANSACTION ISOLATION LEVEL " + isolation);
    run(upstream, requested(refund, 600, ""));
    try (Connection other = database.as("upstream")) {
      other.setAutoCommit(false);
      run(other, "SET TRANSACTION ISOLATION LEVEL " + isolation);
      run(other, "SELECT 1 FROM payrelay.currency LIMIT 1");
      CompletableFuture<Void> waiting =
          CompletableFuture.runAsync(
              () -> {
                try {
                  run(other, inserted(refund + "b", 600, "EUR", "NULL"));
                  other.commit();
                } catch (SQLException e) {
                  throw new CompletionException(e);
                }
              });
      awaitLockWait();
      upstream.commit();

      assertThat(waiting)
          .failsWithin(Duration.ofSeconds(20))
          .withThrowableThat()
          .havingRootCause()
          .withMessageMatching(
              isolation.equals("READ COMMITTED")
                  ? "(?s).*400 of the 1000 captured.*"
                  : "(?s).*(refund_number_key|could not serialize).*");
    }
    assertThat(
            value(
                owner,
                "SELECT count(*), sum(amount_minor) FROM payrelay.refund WHERE payment_id = '%s'"
                    .formatted(payment)))
        .isEqualTo("1|600");
  }

  @ParameterizedTest
  @ValueSource(strings = {"READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"})
  void promisesNothingOutOfASnapshotThatIsOlderThanWhatTheProviderGaveBack(String isolation)
      throws SQLException {
    for (String kind : List.of("PROVIDER_REFUND", "REFUND", "DISPUTE")) {
      upstream.setAutoCommit(false);
      run(upstream, "SET TRANSACTION ISOLATION LEVEL " + isolation);
      run(upstream, "SELECT 1 FROM payrelay.currency LIMIT 1");
      String prefix = kind.equals("DISPUTE") ? "dispute" : "provider_refund";
      out("%s:simulator:%s:%s".formatted(prefix, transaction, kind), kind, 200);

      boolean fresh = isolation.equals("READ COMMITTED");
      refused(
          upstream,
          requested(refund, 900, ""),
          fresh ? "23514" : "40001",
          fresh ? "of the 1000 captured can still be given back" : "could not serialize access");
      upstream.rollback();
    }
    upstream.setAutoCommit(true);
    assertThat(refundable()).isEqualTo("400");
  }

  @Test
  void answersBothOfTwoConcurrentEqualCalls() throws Exception {
    upstream.setAutoCommit(false);
    run(upstream, requested(refund, 600, ""));
    try (Connection other = database.as("upstream")) {
      CompletableFuture<String> waiting =
          CompletableFuture.supplyAsync(
              () -> {
                try {
                  return value(other, requested(refund, 600, ""));
                } catch (SQLException e) {
                  throw new CompletionException(e);
                }
              });
      awaitLockWait();
      upstream.commit();

      assertThat(waiting).succeedsWithin(Duration.ofSeconds(20)).isEqualTo(refund);
    }
    assertThat(
            value(
                owner,
                ("SELECT count(*) FROM payrelay.outbox WHERE aggregate_id = '%s'"
                        + " AND event_type = 'RefundRequested'")
                    .formatted(payment)))
        .isEqualTo("1");
  }

  private void awaitLockWait() {
    Awaitility.await()
        .until(
            () ->
                value(
                        owner,
                        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                            + " AND datname = current_database()")
                    .equals("1"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"status, 'SUCCEEDED'", "version, 1", "provider, 'x'", "refund_number, 9"})
  void refusesColumnsThatAreNotTheUpstreams(String column) {
    String[] both = column.split(", ", -1);
    refused(
        upstream,
        inserted(refund, 1, "EUR", "NULL")
            .replace("refund_id,", "refund_id, " + both[0] + ",")
            .replace("VALUES ('" + refund + "',", "VALUES ('" + refund + "', " + both[1] + ","),
        "42501",
        "permission denied for table refund");
  }

  @Test
  void keepsWhatWasAskedForAndWhereItEnded() throws SQLException {
    run(upstream, requested(refund, 400, ""));
    String update = "UPDATE payrelay.refund SET %s WHERE refund_id = '" + refund + "'";

    refused(owner, update.formatted("amount_minor = 1"), "23001", "does not change: make a new");
    refused(owner, update.formatted("version = 2"), "23001", "stays REQUESTED");
    refused(owner, update.formatted("status = 'PENDING'"), "23001", "has version 1: version 1");
    run(owner, update.formatted("provider_refund_id = 're_1'"));
    refused(owner, update.formatted("provider_refund_id = 're_2'"), "23001", "is set once");
    run(owner, update.formatted("status = 'UNKNOWN', version = 3"));
    refused(owner, update.formatted("status = 'PENDING', version = 4"), "23001", "is UNKNOWN and");
    run(owner, update.formatted("status = 'SUCCEEDED', version = 4"));
    for (String other : List.of("REQUESTED", "PENDING", "FAILED", "UNKNOWN")) {
      refused(
          owner,
          update.formatted("status = '" + other + "', version = 5"),
          "23001",
          "is SUCCEEDED and does not become " + other);
    }
    run(owner, update.formatted("status = 'RETURNED', version = 5, failure_code = 'c'"));
    refused(owner, update.formatted("status = 'SUCCEEDED', version = 6"), "23001", "is RETURNED");
    for (String sql :
        List.of(
            "DELETE FROM payrelay.refund",
            "TRUNCATE payrelay.refund CASCADE",
            "DELETE FROM payrelay.refund_event",
            "UPDATE payrelay.refund_event SET event_type = 'RefundFailed'")) {
      refused(owner, sql, "23001", "is append-only");
    }
  }

  @Test
  void opensADatabaseThatWasOpenBeforeItHadRefunds() throws SQLException {
    TestDatabase old = TestInfra.shared().newDatabase();
    PGSimpleDataSource dataSource = new PGSimpleDataSource();
    dataSource.setUrl(old.jdbcUrl());
    dataSource.setUser(old.user());
    dataSource.setPassword(old.password());
    String opened =
        "SELECT has_any_column_privilege('payrelay_upstream', 'payrelay.refund', 'INSERT')";
    Flyway.configure()
        .dataSource(dataSource)
        .schemas(Migrations.SCHEMA)
        .defaultSchema(Migrations.SCHEMA)
        .table("schema_history")
        .target("0011")
        .load()
        .migrate();
    try (Connection before = dataSource.getConnection()) {
      run(before, "SELECT payrelay.open_for_upstreams()");
      Migrations.migrate(dataSource, EventCatalogue.builtIn());

      assertThat(value(before, opened)).isEqualTo("t");
      assertThat(
              value(
                  before,
                  "SELECT has_function_privilege('payrelay_upstream', oid, 'EXECUTE')"
                      + " FROM pg_proc WHERE proname = 'request_refund'"))
          .isEqualTo("t");
    }
    // Where migrate has not opened it yet, the migration does not either.
    try (Connection closed = MigratedDatabase.closed().owner()) {
      assertThat(value(closed, opened)).isEqualTo("f");
    }
  }
}
