package io.payrelay.schemas;

import static io.payrelay.schemas.MigratedDatabase.refused;
import static io.payrelay.schemas.MigratedDatabase.rows;
import static io.payrelay.schemas.MigratedDatabase.run;
import static io.payrelay.schemas.MigratedDatabase.value;
import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What docs/sql-contract.md promises to upstreams, as a login with payrelay_upstream alone. */
@Timeout(120)
class UpstreamContractIT {

  private static MigratedDatabase database;
  private static int orders;

  private Connection upstream;
  private Connection owner;

  @BeforeAll
  static void migrate() throws SQLException {
    database = MigratedDatabase.open();
  }

  @BeforeEach
  void connect() throws SQLException {
    upstream = database.as("upstream");
    owner = database.owner();
  }

  @AfterEach
  void disconnect() throws SQLException {
    upstream.close();
    owner.close();
  }

  private static String payment(String id, String order, String column, String literal) {
    String sql =
        """
        INSERT INTO payrelay.payment
          (payment_id, merchant, merchant_order_id, provider, amount_minor, currency%s)
        VALUES ('%s', 'shop', '%s', 'simulator', 1250, 'EUR'%s)
        """;
    return sql.formatted(
        column.isEmpty() ? "" : ", " + column, id, order, column.isEmpty() ? "" : ", " + literal);
  }

  private static String requested(String id, String order) {
    return "SELECT payrelay.request_payment('%s', 'shop', '%s', 'simulator', 1250, 'EUR')"
        .formatted(id, order);
  }

  private static String event(String id, String payload) {
    return "INSERT INTO payrelay.outbox (aggregate_type, aggregate_id, event_type, payload)"
        + " VALUES ('payment', '%s', 'ChargeRequested', %s)".formatted(id, payload);
  }

  private static String next() {
    return "order_%06d".formatted(++orders);
  }

  @Test
  void takesPlainInsertsAndRecordsThem() throws SQLException {
    String id = next();
    upstream.setAutoCommit(false);
    run(upstream, payment(id, id, "customer_id", "'c1'"));
    run(upstream, event(id, "'{}'"));
    upstream.commit();

    assertThat(
            value(
                owner,
                "SELECT status, version FROM payrelay.payment WHERE payment_id = '" + id + "'"))
        .isEqualTo("CREATED|1");
    assertThat(
            value(
                owner,
                "SELECT event_type, version, status, fact_source FROM payrelay.payment_event"
                    + " WHERE payment_id = '"
                    + id
                    + "'"))
        .isEqualTo("PaymentRequested|1|CREATED|UPSTREAM");
    assertThat(
            value(owner, "SELECT count(*) FROM payrelay.outbox WHERE aggregate_id = '" + id + "'"))
        .isEqualTo("1");
  }

  @Test
  void writesBothByRequestPaymentAndOnceOnly() throws Exception {
    String id = next();
    String call =
        "SELECT payrelay.request_payment('%s', 'shop', '%s', 'simulator', 1250, 'EUR', business_refs => '{\"a\": 1}', trace_id => 't1')"
            .formatted(id, id);

    assertThat(value(upstream, call)).isEqualTo(id);
    assertThat(value(upstream, call)).isEqualTo(id);

    assertThat(rows(owner, "SELECT payload FROM payrelay.outbox WHERE aggregate_id = '" + id + "'"))
        .hasSize(1)
        .allSatisfy(
            payload ->
                assertThat(
                        new EventCodec(EventCatalogue.builtIn()).encode("ChargeRequested", payload))
                    .isNotEmpty());
    assertThat(
            value(
                owner,
                "SELECT count(*) FROM payrelay.payment_event WHERE payment_id = '" + id + "'"))
        .isEqualTo("1");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "'other', '%s', 'simulator', 1250, 'EUR' | merchant",
        "'shop', '%s_', 'simulator', 1250, 'EUR' | merchant_order_id",
        "'shop', '%s', 'wechat', 1250, 'EUR' | provider",
        "'shop', '%s', 'simulator', 1251, 'EUR' | amount_minor",
        "'shop', '%s', 'simulator', 1250, 'USD' | currency",
        "'shop', '%s', 'simulator', 1250, 'EUR', payee_account => 'p' | payee_account",
        "'shop', '%s', 'simulator', 1250, 'EUR', customer_id => 'c' | customer_id",
        "'shop', '%s', 'simulator', 1250, 'EUR', business_refs => '{\"a\": 1}' | business_refs",
        "'shop', '%s', 'simulator', 1250, 'EUR', provider_data => '{\"a\": 1}' | provider_data",
        "'shop', '%s', 'simulator', 1250, 'EUR', trace_id => 't' | trace_id",
      })
  void refusesARepeatedCallWithOtherArguments(String arguments, String differing)
      throws SQLException {
    String id = next();
    run(upstream, requested(id, id));

    refused(
        upstream,
        "SELECT payrelay.request_payment('" + id + "', " + arguments.formatted(id) + ")",
        "23505",
        "exists with another " + differing + ": a payment_id names one payment for good");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "'ab', 'shop', 'o', 'simulator', 1, 'EUR' | is not 6 to 32 of the characters",
        "'with-dash', 'shop', 'o', 'simulator', 1, 'EUR' | is not 6 to 32 of the characters",
        "NULL, 'shop', 'o', 'simulator', 1, 'EUR' | payment_id NULL is not",
        "'bad_00001', 'shop', 'o', 'simulator', 0, 'EUR' | amount_minor 0 of payment bad_00001 is not a positive",
        "'bad_00001', 'shop', 'o', 'simulator', -5, 'EUR' | amount_minor -5 of",
        "'bad_00001', 'shop', 'o', 'simulator', NULL, 'EUR' | amount_minor NULL of",
        "'bad_00001', 'shop', 'o', 'simulator', 1, 'eur' | currency 'eur' of payment",
        "'bad_00001', 'shop', 'o', 'simulator', 1, 'XXX' | currency 'XXX' of payment",
        "'bad_00001', 'shop', 'o', 'simulator', 1, NULL | currency NULL of payment",
        "'bad_00001', 'shop', 'o', 'Bad Name', 1, 'EUR' | provider 'Bad Name' of payment",
      })
  void refusesBadValuesWithASentence(String values, String sentence) {
    refused(upstream, "SELECT payrelay.request_payment(" + values + ")", "23514", sentence);
    refused(
        upstream,
        "INSERT INTO payrelay.payment (payment_id, merchant, merchant_order_id, provider, amount_minor,"
            + " currency) VALUES ("
            + values
            + ")",
        "23514",
        sentence);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "merchant | NULL | 23502 | needs merchant and merchant_order_id",
        "merchant | repeat('x', 129) | 23514 | payment_merchant_length",
        "merchant_order_id | '' | 23514 | payment_merchant_order_id_length",
        "payee_account | '' | 23514 | payment_payee_account_length",
        "customer_id | repeat('x', 129) | 23514 | payment_customer_id_length",
        "business_refs | '[]' | 23514 | payment_business_refs_object",
        "provider_data | '\"x\"' | 23514 | payment_provider_data_object",
        "provider_data | jsonb_build_object('a', repeat('x', 17000)) | 23514 | payment_provider_data_object",
        "trace_id | 'a b' | 23514 | payment_trace_id_form",
      })
  void refusesWhatAColumnDoesNotTake(
      String column, String literal, String sqlState, String message) {
    String sql =
        "INSERT INTO payrelay.payment (payment_id, provider, amount_minor, currency%s)"
            + " VALUES ('bad_00002', 'simulator', 1, 'EUR'%s)";
    String columns = "";
    String values = "";
    for (String needed : new String[] {"merchant", "merchant_order_id"}) {
      if (!needed.equals(column)) {
        columns += ", " + needed;
        values += ", 'o'";
      }
    }
    refused(
        upstream,
        sql.formatted(columns + ", " + column, values + ", " + literal),
        sqlState,
        message);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "4111111111111111",
        "4111 1111 1111 1111",
        "4111-1111-1111-1111",
        "paid with 4111 1111 1111 1111 on 2026-11-29",
        "2026-11-29 4111111111111111",
        "378282246310005",
        "3782 822463 10005",
        "6304000000000000000",
        "pm_4242424242424242",
        "2223003122003222",
      })
  void refusesCardLikeDigits(String text) {
    for (String column : new String[] {"provider_data", "business_refs"}) {
      refused(
          upstream,
          payment(next(), next(), column, "jsonb_build_object('ref', '" + text + "')"),
          "23514",
          "holds digits that look like a card number");
    }
    refused(
        upstream,
        payment(next(), next(), "provider_data", "'{\"n\": 4111111111111111}'"),
        "23514",
        "holds digits that look like a card number");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "2026112922001400000000000000", // Alipay and WeChat: 28 digits
        "4200001234202611291234567890",
        "20261129185045", // times
        "1764442245123456",
        "1764442245123456789",
        "2026-11-29 18:50:45.123456+00",
        "4111111111111112", // fails Luhn
        "c0ffee00-0000-4111-1111-111111111111",
        "00000000-0000-4000-a400-411111111111",
        "a4111111111111111b0000000000000c", // a UUID without its dashes
        "tok_visa",
      })
  void takesReferencesThatAreNoCards(String text) throws SQLException {
    run(
        upstream,
        payment(next(), next(), "business_refs", "jsonb_build_object('ref', '" + text + "')"));
  }

  @Test
  void takesRandomUuids() throws SQLException {
    assertThat(
            value(
                owner,
                "SELECT count(*) FROM generate_series(1, 20000), gen_random_uuid() AS u"
                    + " WHERE payrelay.has_card_like_digits(u::text)"
                    + " OR payrelay.has_card_like_digits(replace(u::text, '-', ''))"))
        .isEqualTo("0");
  }

  @Test
  void refusesASecondLivePaymentForAnOrderUntilTheFirstFailed() throws SQLException {
    String order = next();
    String first = next();
    run(upstream, requested(first, order));

    String second = next();
    refused(upstream, requested(second, order), "23505", "already has a live payment");
    refused(upstream, payment(second, order, "", ""), "23505", "already has a live payment");

    run(
        owner,
        "UPDATE payrelay.payment SET status = 'FAILED', failure_code = 'declined', version = 2"
            + " WHERE payment_id = '"
            + first
            + "'");
    run(upstream, requested(second, order));
    // A late retry of the failed one's request is answered still, and changes nothing.
    assertThat(value(upstream, requested(first, order))).isEqualTo(first);
  }

  @Test
  void letsOneOfTwoConcurrentPaymentsForAnOrderThrough() throws Exception {
    String order = next();
    upstream.setAutoCommit(false);
    run(upstream, requested(next(), order));
    try (Connection other = database.as("upstream")) {
      String second = next();
      CompletableFuture<Void> waiting =
          CompletableFuture.runAsync(
              () -> {
                try {
                  run(other, requested(second, order));
                } catch (SQLException e) {
                  throw new CompletionException(e);
                }
              });
      awaitLockWait();
      upstream.commit();

      assertThat(waiting)
          .failsWithin(java.time.Duration.ofSeconds(20))
          .withThrowableThat()
          .havingRootCause()
          .withMessageContaining("payment_live_order_key");
    }
  }

  @Test
  void answersBothOfTwoConcurrentEqualCalls() throws Exception {
    String id = next();
    upstream.setAutoCommit(false);
    run(upstream, requested(id, id));
    try (Connection other = database.as("upstream")) {
      CompletableFuture<String> waiting =
          CompletableFuture.supplyAsync(
              () -> {
                try {
                  return value(other, requested(id, id));
                } catch (SQLException e) {
                  throw new CompletionException(e);
                }
              });
      awaitLockWait();
      upstream.commit();

      assertThat(waiting).succeedsWithin(java.time.Duration.ofSeconds(20)).isEqualTo(id);
    }
    assertThat(
            value(owner, "SELECT count(*) FROM payrelay.outbox WHERE aggregate_id = '" + id + "'"))
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
  @CsvSource(
      quoteCharacter = '`',
      value = {
        "status, 'SUCCEEDED'",
        "version, 1",
        "provider_transaction_id, 't'",
        "failure_code, 'c'",
        "created_at, now()",
        "updated_at, now()",
      })
  void refusesColumnsThatAreNotTheUpstreams(String column, String literal) {
    refused(
        upstream,
        payment(next(), next(), column, literal),
        "42501",
        "permission denied for table payment");
  }

  @Test
  void refusesAForgedEventType() {
    for (String type : new String[] {"PaymentStatusChanged", "Unheard"}) {
      refused(
          upstream,
          event("x", "'{}'").replace("ChargeRequested", type),
          "42501",
          "event type '" + type + "' is not one that upstream services may write");
    }
  }

  @Test
  void refusesAForgedEventTypeAlsoAfterSetRole() throws SQLException {
    run(upstream, "SET ROLE payrelay_upstream");

    refused(
        upstream,
        event("x", "'{}'").replace("ChargeRequested", "PaymentStatusChanged"),
        "42501",
        "is not one that upstream services may write");
  }

  @Test
  void isHeldByThePolicyWhereTheTriggerIsGone() throws SQLException {
    MigratedDatabase another = MigratedDatabase.open();
    try (Connection theOwner = another.owner();
        Connection theUpstream = another.as("upstream")) {
      run(theOwner, "ALTER TABLE payrelay.outbox DISABLE TRIGGER outbox_check");

      refused(
          theUpstream,
          event("x", "'{}'").replace("ChargeRequested", "PaymentStatusChanged"),
          "42501",
          "row-level security policy");
    }
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "NULL | 23502 | payload of a ChargeRequested event for x is NULL",
        "json_build_object('a', repeat('x', 900000)) | 23514 | at most 900000",
        "'{' | 22P02 | invalid input syntax for type json",
      })
  void refusesBadPayloads(String payload, String sqlState, String sentence) {
    refused(upstream, event("x", payload), sqlState, sentence);
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "aggregate_type | repeat('x', 65) | outbox_aggregate_type_length",
        "aggregate_id | '' | outbox_aggregate_id_length",
        "trace_id | 'a b' | outbox_trace_id_form",
        "traceparent | repeat('x', 129) | outbox_traceparent_length",
      })
  void refusesOutboxColumnsOutOfBounds(String column, String literal, String constraint) {
    String columns = "event_type, payload";
    String values = "'ChargeRequested', '{}'";
    for (String needed : new String[] {"aggregate_type", "aggregate_id"}) {
      if (!needed.equals(column)) {
        columns += ", " + needed;
        values += ", 'x'";
      }
    }
    refused(
        upstream,
        "INSERT INTO payrelay.outbox (%s, %s) VALUES (%s, %s)"
            .formatted(columns, column, values, literal),
        "23514",
        constraint);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "SELECT 1 FROM payrelay.payment",
        "SELECT 1 FROM payrelay.outbox",
        "SELECT 1 FROM payrelay.payment_event",
        "SELECT 1 FROM payrelay.refund",
        "SELECT 1 FROM payrelay.refund_event",
        "SELECT 1 FROM payrelay.refundable('x')",
        "UPDATE payrelay.refund SET amount_minor = 1",
        "SELECT 1 FROM payrelay.ledger_entry",
        "SELECT 1 FROM payrelay.exception_case",
        "UPDATE payrelay.payment SET amount_minor = 1",
        "UPDATE payrelay.outbox SET payload = '{}'",
        "DELETE FROM payrelay.payment",
        "DELETE FROM payrelay.outbox",
        "TRUNCATE payrelay.outbox",
        "INSERT INTO payrelay.payment_event DEFAULT VALUES",
        "INSERT INTO payrelay.event_type VALUES ('Mine', 't', true)",
        "INSERT INTO payrelay.currency VALUES ('XXX', 2)",
        "INSERT INTO payrelay.outbox_default (aggregate_type, aggregate_id, event_type, payload)"
            + " VALUES ('a', 'b', 'PaymentStatusChanged', '{}')",
        "INSERT INTO payrelay.outbox (aggregate_type, aggregate_id, event_type, payload, created_at)"
            + " VALUES ('a', 'b', 'ChargeRequested', '{}', now())",
        "INSERT INTO payrelay.outbox (aggregate_type, aggregate_id, event_type, payload)"
            + " VALUES ('a', 'b', 'ChargeRequested', '{}') RETURNING event_id",
        "SELECT payrelay.open_for_upstreams()",
        "SELECT payrelay.create_outbox_partitions()",
        "CREATE TABLE payrelay.mine ()",
      })
  void mayDoNothingElse(String sql) {
    refused(upstream, sql, "42501", "");
  }

  @Test
  void forgesNoEventsByATriggerFunctionOnATableOfItsOwn() throws SQLException {
    String id = next();
    run(upstream, requested(id, id));
    run(upstream, "CREATE TEMP TABLE mine (payment_id text, version bigint, status text)");
    for (String function : new String[] {"payment_requested", "payment_check", "outbox_check"}) {
      refused(
          upstream,
          trigger(function),
          "42501",
          "permission denied for function payrelay." + function);
    }
    assertThat(
            value(
                owner,
                "SELECT count(*) FROM payrelay.payment_event WHERE payment_id = '" + id + "'"))
        .isEqualTo("1");
  }

  @ParameterizedTest
  @ValueSource(strings = {"payment_requested", "payment_check", "outbox_check"})
  void keepsTheTriggerFunctionsToTheirTables(String function) throws SQLException {
    run(owner, "CREATE TEMP TABLE mine (LIKE payrelay.payment)");
    run(owner, trigger(function));

    refused(
        owner,
        "INSERT INTO mine (payment_id, merchant, merchant_order_id, provider, amount_minor, currency,"
            + " business_refs, provider_data, status, version, created_at, updated_at)"
            + " VALUES ('forged_1', 'm', 'o', 'simulator', 1, 'EUR', '{}', '{}', 'CREATED', 1, now(), now())",
        "42501",
        function + " is for payrelay.");
  }

  private static String trigger(String function) {
    return "CREATE TRIGGER forge %s INSERT ON mine FOR EACH ROW EXECUTE FUNCTION payrelay.%s()"
        .formatted(function.endsWith("check") ? "BEFORE" : "AFTER", function);
  }

  @Test
  void grantsNoFunctionToEverybody() throws SQLException {
    assertThat(
            rows(
                owner,
                """
                SELECT p.oid::regprocedure FROM pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
                WHERE p.pronamespace = 'payrelay'::regnamespace AND a.grantee = 0
                """))
        .isEmpty();
  }

  @Test
  void mayReadCurrenciesAndEventTypes() throws SQLException {
    assertThat(value(upstream, "SELECT exponent FROM payrelay.currency WHERE code = 'JPY'"))
        .isEqualTo("0");
    assertThat(value(upstream, "SELECT count(*) FROM payrelay.event_type")).isEqualTo("4");
  }

  @Test
  void copiesNeitherTableUnderRowLevelSecurity() {
    refused(
        upstream,
        "COPY payrelay.outbox (aggregate_type, aggregate_id, event_type, payload) FROM STDIN",
        "0A000",
        "COPY FROM not supported with row-level security");
  }

  @Test
  void leavesNothingBehindARollback() throws SQLException {
    String id = next();
    upstream.setAutoCommit(false);
    run(upstream, requested(id, id));
    upstream.rollback();

    for (String table : new String[] {"payment", "payment_event"}) {
      assertThat(
              value(
                  owner,
                  "SELECT count(*) FROM payrelay." + table + " WHERE payment_id = '" + id + "'"))
          .isEqualTo("0");
    }
    assertThat(
            value(owner, "SELECT count(*) FROM payrelay.outbox WHERE aggregate_id = '" + id + "'"))
        .isEqualTo("0");
  }

  @Test
  void mayWriteNothingBeforeItIsOpened() throws SQLException {
    MigratedDatabase closed = MigratedDatabase.closed();
    try (Connection early = closed.as("upstream");
        Connection worker = closed.as("worker")) {
      refused(early, payment("early_0001", "o", "", ""), "42501", "permission denied");
      refused(early, requested("early_0001", "o"), "42501", "permission denied");
      refused(early, event("x", "'{}'"), "42501", "permission denied");
      refused(
          early,
          "SELECT payrelay.request_refund('early_r01', 'early_0001', 1, 'EUR')",
          "42501",
          "permission denied");
      refused(
          early,
          "INSERT INTO payrelay.refund (refund_id, payment_id, amount_minor, currency)"
              + " VALUES ('early_r01', 'early_0001', 1, 'EUR')",
          "42501",
          "permission denied");
      refused(worker, event("x", "'{}'"), "42501", "permission denied");
    }
  }
}
