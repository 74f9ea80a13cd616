package io.payrelay.schemas;

import static io.payrelay.schemas.MigratedDatabase.refused;
import static io.payrelay.schemas.MigratedDatabase.run;
import static io.payrelay.schemas.MigratedDatabase.value;
import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What not even the owner may do to evidence and money. */
@Timeout(120)
class GuardsIT {

  private static Connection owner;

  @BeforeAll
  static void migrate() throws SQLException {
    owner = MigratedDatabase.open().owner();
    run(
        owner,
        "SELECT payrelay.request_payment('pay_0001', 'shop', 'o1', 'simulator', 1250, 'EUR')");
    run(
        owner,
        """
        INSERT INTO payrelay.operation (payment_id, kind, provider, idempotency_key, request_body,
          request_digest, key_safe_until, next_action, next_action_at)
        VALUES ('pay_0001', 'CHARGE', 'simulator', 'k', 'b', sha256('b'), now(), 'CALL', now())
        """);
    run(
        owner,
        """
        INSERT INTO payrelay.provider_event (provider, event_id, event_type, body, body_digest,
          business_digest, key_id, disposition)
        VALUES ('simulator', 'e1', 't', 'b', sha256('b'), sha256('b'), 'k', 'PARKED')
        """);
    run(
        owner,
        "INSERT INTO payrelay.exception_case (business_key, kind, event_at) VALUES ('k', 'UNRESOLVED', now())");
    run(
        owner,
        """
        INSERT INTO payrelay.ledger_account (account_id, kind, provider, currency) VALUES
          ('bank:EUR', 'BANK', 'simulator', 'EUR'), ('fees:EUR', 'FEES', 'simulator', 'EUR'),
          ('bank:USD', 'BANK', 'simulator', 'USD'), ('fees:USD', 'FEES', 'simulator', 'USD')
        """);
    post("first", "(1, 'bank:EUR', 'DEBIT', 5, 'EUR')", "(2, 'fees:EUR', 'CREDIT', 5, 'EUR')");
  }

  @AfterAll
  static void disconnect() throws SQLException {
    owner.close();
  }

  @BeforeEach
  @AfterEach
  void endTransaction() throws SQLException {
    owner.setAutoCommit(true);
  }

  private static void post(String key, String... entries) throws SQLException {
    run(owner, posting(key, entries));
  }

  private static String posting(String key, String... entries) {
    String sql =
        "INSERT INTO payrelay.ledger_posting (business_key, kind, event_at) VALUES ('%s', 'ADJUSTMENT', now())"
            .formatted(key);
    if (entries.length == 0) {
      return sql;
    }
    return "DO $$ DECLARE id bigint; BEGIN "
        + sql
        + " RETURNING posting_id INTO id;"
        + " INSERT INTO payrelay.ledger_entry SELECT id, * FROM (VALUES "
        + String.join(", ", entries)
        + ") AS e (n, account_id, side, amount_minor, currency); END $$";
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "payment_event | evidence = '{}'",
        "ledger_account | provider = 'x'",
        "ledger_posting | business_key = 'x'",
        "ledger_entry | amount_minor = 1",
      })
  void keepsAppendOnlyTablesAppendOnly(String table, String change) {
    refused(
        owner, "UPDATE payrelay." + table + " SET " + change, "23001", "is append-only: UPDATE");
    refused(owner, "DELETE FROM payrelay." + table, "23001", "is append-only: DELETE");
    refused(owner, "TRUNCATE payrelay." + table + " CASCADE", "23001", "is append-only: TRUNCATE");
  }

  @ParameterizedTest
  @CsvSource({"payment", "provider_event", "operation", "exception_case"})
  void removesNothing(String table) {
    refused(owner, "DELETE FROM payrelay." + table, "23001", "is append-only: DELETE");
    refused(owner, "TRUNCATE payrelay." + table + " CASCADE", "23001", "is append-only: TRUNCATE");
  }

  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '`',
      value = {
        "payment_id, 'x_000001'",
        "merchant, 'x'",
        "merchant_order_id, 'x'",
        "provider, 'x'",
        "amount_minor, 1",
        "currency, 'USD'",
        "payee_account, 'x'",
        "customer_id, 'x'",
        "business_refs, '{\"a\":1}'",
        // Source: tempoxyz/pympp PR 155 (another card token on a retry).
        "provider_data, '{\"a\":1}'",
        "trace_id, 'x'",
        "created_at, now()",
      })
  void keepsWhatWasAskedFor(String column, String literal) {
    refused(
        owner,
        "UPDATE payrelay.payment SET version = version + 1, %s = %s WHERE payment_id = 'pay_0001'"
            .formatted(column, literal),
        "23001",
        "what was asked for in payment pay_0001 does not change");
  }

  @ParameterizedTest
  @CsvSource({"SUCCEEDED, FAILED", "SUCCEEDED, UNKNOWN", "FAILED, SUCCEEDED", "FAILED, PENDING"})
  void doesNotMoveTerminalPayments(String terminal, String next) throws SQLException {
    String id =
        terminal.toLowerCase(java.util.Locale.ROOT) + "_" + next.toLowerCase(java.util.Locale.ROOT);
    run(
        owner,
        "SELECT payrelay.request_payment('%s', 'shop', '%s', 'simulator', 1, 'EUR')"
            .formatted(id, id));
    String update =
        "UPDATE payrelay.payment SET status = '%s', version = version + 1, failure_code = 'c',"
            + " provider_transaction_id = '"
            + id
            + "' WHERE payment_id = '"
            + id
            + "'";
    run(owner, update.formatted(terminal));

    refused(owner, update.formatted(next), "23001", "is " + terminal + " and stays so");
  }

  @Test
  void needsAHigherVersionForEveryChange() {
    refused(
        owner,
        "UPDATE payrelay.payment SET status = 'PENDING' WHERE payment_id = 'pay_0001'",
        "23001",
        "version 1 is not after it");
  }

  @Test
  void needsATransactionToSucceedAndACodeToFail() {
    String update =
        "UPDATE payrelay.payment SET version = 2, status = '%s' WHERE payment_id = 'pay_0001'";
    refused(owner, update.formatted("SUCCEEDED"), "23514", "payment_succeeded_names_transaction");
    refused(owner, update.formatted("FAILED"), "23514", "payment_failed_names_code");
  }

  @Test
  void letsOneProviderTransactionPayOnePayment() throws SQLException {
    String update =
        "UPDATE payrelay.payment SET status = 'SUCCEEDED', version = 2, provider_transaction_id = 'tx'"
            + " WHERE payment_id = '%s'";
    for (String id : new String[] {"claim_01", "claim_02"}) {
      run(
          owner,
          "SELECT payrelay.request_payment('%s', 'shop', '%s', 'simulator', 1, 'EUR')"
              .formatted(id, id));
    }
    run(owner, update.formatted("claim_01"));

    refused(owner, update.formatted("claim_02"), "23505", "payment_provider_transaction_id_key");
  }

  @Test
  void refusesAPaymentThatDoesNotBeginAsCreated() {
    refused(
        owner,
        "INSERT INTO payrelay.payment (payment_id, merchant, merchant_order_id, provider, amount_minor,"
            + " currency, status, provider_transaction_id)"
            + " VALUES ('forged_1', 'm', 'o', 'simulator', 1, 'EUR', 'SUCCEEDED', 't')",
        "23514",
        "must begin as CREATED");
  }

  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '`',
      value = {
        "idempotency_key, 'x'",
        "request_body, 'x'",
        "request_digest, sha256('x')",
        "provider, 'x'",
        "payment_id, 'x'",
        "kind, 'REFUND'",
      })
  void keepsTheKeyAndTheBytesOfAnOperation(String column, String literal) {
    refused(
        owner,
        "UPDATE payrelay.operation SET %s = %s".formatted(column, literal),
        "23001",
        "has its key and its bytes for good");
  }

  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '`',
      value = {"now() + interval '1 day'", "NULL"})
  void setsKeySafeUntilOnce(String literal) {
    refused(
        owner, "UPDATE payrelay.operation SET key_safe_until = " + literal, "23001", "is set once");
  }

  @Test
  void hasOneChargeAPayment() {
    refused(
        owner,
        """
        INSERT INTO payrelay.operation (payment_id, kind, provider, idempotency_key, request_body, request_digest)
        VALUES ('pay_0001', 'CHARGE', 'simulator', 'k2', 'b', sha256('b'))
        """,
        "23505",
        "operation_charge_key");
  }

  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '`',
      value = {
        "body, 'x'",
        "body_digest, sha256('x')",
        "business_digest, sha256('x')",
        "headers, '{\"a\": 1}'",
        "event_type, 'x'",
        "received_at, now()",
        "key_id, 'x'"
      })
  void keepsWebhookEventsAsTheyCame(String column, String literal) {
    refused(
        owner,
        "UPDATE payrelay.provider_event SET %s = %s".formatted(column, literal),
        "23001",
        "is evidence and does not change");
  }

  @Test
  void remembersWhatBecameOfAWebhookEvent() throws SQLException {
    run(owner, "UPDATE payrelay.provider_event SET disposition = 'APPLIED', delivery_count = 2");

    assertThat(value(owner, "SELECT disposition FROM payrelay.provider_event"))
        .isEqualTo("APPLIED");
  }

  @Test
  void refusesPostingsThatDoNotBalancePerCurrency() {
    refused(
        owner,
        posting("off", "(1, 'bank:EUR', 'DEBIT', 5, 'EUR')", "(2, 'fees:EUR', 'CREDIT', 4, 'EUR')"),
        "23514",
        "does not balance: EUR off by 1");
    refused(
        owner,
        posting(
            "mixed", "(1, 'bank:EUR', 'DEBIT', 5, 'EUR')", "(2, 'fees:USD', 'CREDIT', 5, 'USD')"),
        "23514",
        "does not balance");
    refused(
        owner,
        posting(
            "huge",
            "(1, 'bank:EUR', 'DEBIT', 9223372036854775807, 'EUR')",
            "(2, 'bank:EUR', 'DEBIT', 9223372036854775807, 'EUR')"),
        "23514",
        "does not balance");
  }

  @Test
  void takesABalancedPostingOfSeveralCurrencies() throws SQLException {
    post(
        "both",
        "(1, 'bank:EUR', 'DEBIT', 5, 'EUR')",
        "(2, 'fees:EUR', 'CREDIT', 5, 'EUR')",
        "(3, 'bank:USD', 'DEBIT', 7, 'USD')",
        "(4, 'fees:USD', 'CREDIT', 7, 'USD')");
  }

  @Test
  void refusesPostingsWithoutTwoEntries() {
    refused(owner, posting("none"), "23514", "(none) has no entries");
    refused(
        owner,
        posting("one", "(1, 'bank:EUR', 'DEBIT', 5, 'EUR')"),
        "23514",
        "(one) does not balance: EUR off by 5");
  }

  @Test
  void refusesEntriesThatComeLater() {
    refused(
        owner,
        """
        INSERT INTO payrelay.ledger_entry (posting_id, entry_number, account_id, side, amount_minor, currency)
        SELECT posting_id, 9, 'bank:EUR', 'DEBIT', 5, 'EUR' FROM payrelay.ledger_posting WHERE business_key = 'first'
        """,
        "23001",
        "entries come with their posting");
  }

  @Test
  void checksTheBalanceOfEveryStatementThatBringsEntries() throws SQLException {
    owner.setAutoCommit(false);
    post("twice", "(5, 'bank:EUR', 'DEBIT', 5, 'EUR')", "(6, 'fees:EUR', 'CREDIT', 5, 'EUR')");
    String more =
        "INSERT INTO payrelay.ledger_entry SELECT posting_id, n, account_id, side, amount_minor, 'EUR'"
            + " FROM payrelay.ledger_posting, (VALUES (1, 'bank:EUR', 'DEBIT', 5), (2, 'fees:EUR', 'CREDIT', %d))"
            + " AS e (n, account_id, side, amount_minor) WHERE business_key = 'twice'";
    run(owner, "SAVEPOINT balanced");
    run(owner, more.formatted(5));
    run(owner, "ROLLBACK TO balanced");

    refused(owner, more.formatted(4), "23514", "(twice) does not balance: EUR off by 1");
  }

  @Test
  void findsTheOneUnbalancedPostingAmongMany() throws SQLException {
    owner.setAutoCommit(false);
    run(
        owner,
        "INSERT INTO payrelay.ledger_posting (business_key, kind, event_at)"
            + " SELECT 'many:' || n, 'ADJUSTMENT', now() FROM generate_series(1, 50) n");

    refused(
        owner,
        "INSERT INTO payrelay.ledger_entry SELECT posting_id, e.n, account_id, side,"
            + " CASE business_key WHEN 'many:37' THEN e.n ELSE 7 END, 'EUR' FROM payrelay.ledger_posting,"
            + " (VALUES (1, 'bank:EUR', 'DEBIT'), (2, 'fees:EUR', 'CREDIT')) AS e (n, account_id, side)"
            + " WHERE business_key LIKE 'many:%'",
        "23514",
        "(many:37) does not balance: EUR off by -1");
  }

  @Test
  void keepsAccountsOfCurrenciesThatNoPaymentCanHave() throws SQLException {
    String account =
        "INSERT INTO payrelay.ledger_account (account_id, kind, provider, currency)"
            + " VALUES ('bank:%s', 'BANK', 'simulator', '%s')";
    run(owner, account.formatted("XAU", "XAU"));

    refused(owner, account.formatted("eur", "eur"), "23514", "ledger_account_currency_form");
  }

  @Test
  void refusesABusinessKeyUsedAgain() {
    refused(
        owner,
        posting(
            "first", "(1, 'bank:EUR', 'DEBIT', 5, 'EUR')", "(2, 'fees:EUR', 'CREDIT', 5, 'EUR')"),
        "23505",
        "ledger_posting_business_key_key");
  }

  @Test
  void refusesAnEntryInAnotherCurrencyThanItsAccount() {
    refused(
        owner,
        posting(
            "other", "(1, 'bank:EUR', 'DEBIT', 5, 'USD')", "(2, 'fees:EUR', 'CREDIT', 5, 'USD')"),
        "23503",
        "ledger_entry_account_currency");
  }

  @Test
  void refusesEntriesOfNothing() {
    refused(
        owner,
        posting(
            "zero", "(1, 'bank:EUR', 'DEBIT', 0, 'EUR')", "(2, 'fees:EUR', 'CREDIT', 0, 'EUR')"),
        "23514",
        "amount_minor");
  }
}
