package io.payrelay.schemas;

import static io.payrelay.schemas.MigratedDatabase.rows;
import static io.payrelay.schemas.MigratedDatabase.run;
import static io.payrelay.schemas.MigratedDatabase.value;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.postgresql.PGConnection;
import org.postgresql.util.PSQLState;

/** Holds docs/sql-contract.md to the database. */
@Timeout(120)
class SqlContractIT {

  private static final Pattern ROW =
      Pattern.compile("(?m)^\\| ([0-9A-Z]{5}) \\| (?:`(\\w+)`)? ?\\|");
  private static final Pattern COLUMN = Pattern.compile("(?m)^\\| `(\\w+)` \\|");
  private static final Pattern EXAMPLE = Pattern.compile("(?s)```sql\n(BEGIN;.*?)```");

  private static MigratedDatabase database;
  private static String document;

  @BeforeAll
  static void migrate() throws SQLException, IOException {
    database = MigratedDatabase.open();
    document = Files.readString(Path.of("../docs/sql-contract.md"));
  }

  private static Set<String> column(Connection connection, String sql) throws SQLException {
    return new TreeSet<>(rows(connection, sql));
  }

  private static Set<String> documentedColumns(String heading) {
    String from = document.substring(document.indexOf(heading));
    String section = from.substring(0, from.indexOf("\n## ", 1));
    return COLUMN
        .matcher(section)
        .results()
        .map(row -> row.group(1))
        .collect(Collectors.toCollection(TreeSet::new));
  }

  @Test
  void namesOnlyConstraintsThatExist() throws SQLException {
    try (Connection owner = database.owner()) {
      Set<String> known =
          column(
              owner,
              """
              SELECT conname FROM pg_constraint WHERE connamespace = 'payrelay'::regnamespace
              UNION SELECT relname FROM pg_class WHERE relnamespace = 'payrelay'::regnamespace AND relkind = 'i'
              """);
      // What triggers raise under a name of their own: no constraint could hold it.
      known.addAll(
          Set.of(
              "payment_id_not_reserved",
              "refund_id_not_reserved",
              "outbox_created_at_range",
              "payment_created_at_range",
              "refund_created_at_range",
              "refund_within_captured",
              "refund_names_captured_transaction",
              "refund_currency_captured"));
      List<MatchResult> documented = ROW.matcher(document).results().toList();

      assertThat(documented).hasSizeGreaterThan(20);
      for (MatchResult row : documented) {
        if (row.group(2) != null) {
          assertThat(known).contains(row.group(2));
        }
      }
    }
  }

  @Test
  void namesOnlySqlStatesThatPostgresKnows() {
    Set<String> known =
        Arrays.stream(PSQLState.values()).map(PSQLState::getState).collect(Collectors.toSet());
    known.addAll(Set.of("42501", "0A000", "22P02"));

    assertThat(ROW.matcher(document).results().map(row -> row.group(1)).toList())
        .isNotEmpty()
        .isSubsetOf(known);
  }

  @Test
  void namesEveryCheckOnTheContractsColumns() throws SQLException {
    try (Connection owner = database.owner()) {
      Set<String> checks =
          column(
              owner,
              """
              SELECT conname FROM pg_constraint c
              WHERE contype = 'c' AND conrelid IN ('payrelay.payment'::regclass, 'payrelay.refund'::regclass, 'payrelay.outbox'::regclass)
                AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = conrelid AND a.attnum = ANY (conkey)
                  AND has_column_privilege('payrelay_upstream', conrelid, a.attnum, 'INSERT'))
              """);
      // What the trigger says first, in a sentence.
      checks.removeAll(
          Set.of(
              "payment_id_form",
              "payment_amount_positive",
              "payment_provider_form",
              "refund_id_form",
              "refund_amount_positive",
              "refund_currency_form"));

      assertThat(ROW.matcher(document).results().map(row -> String.valueOf(row.group(2))).toList())
          .containsAll(checks);
    }
  }

  @Test
  void listsExactlyTheColumnsThatUpstreamsMayWrite() throws SQLException {
    try (Connection owner = database.owner()) {
      for (String table : List.of("payment", "refund", "outbox")) {
        assertThat(documentedColumns("## `payrelay." + table + "`"))
            .isEqualTo(
                column(
                    owner,
                    """
                    SELECT attname FROM pg_attribute WHERE attrelid = 'payrelay.%s'::regclass AND attnum > 0
                      AND has_column_privilege('payrelay_upstream', attrelid, attnum, 'INSERT')
                    """
                        .formatted(table)));
      }
    }
  }

  @Test
  void holdsExamplesThatRunAndCanBeEncoded() throws Exception {
    List<String> examples =
        EXAMPLE.matcher(document).results().map(example -> example.group(1)).toList();
    assertThat(examples).hasSize(2);
    try (Connection upstream = database.as("upstream");
        Connection owner = database.owner()) {
      for (String example : examples) {
        run(upstream, example.replaceAll("UPDATE shop[^;]*;", ""));
      }

      List<String> payloads = new ArrayList<>(rows(owner, "SELECT payload FROM payrelay.outbox"));
      assertThat(payloads).hasSize(2);
      for (String payload : payloads) {
        assertThat(new EventCodec(EventCatalogue.builtIn()).encode("ChargeRequested", payload))
            .isNotEmpty();
      }
    }
  }

  @Test
  void letsUpstreamsCopyPayments() throws Exception {
    try (Connection upstream = database.as("upstream");
        Connection owner = database.owner()) {
      upstream
          .unwrap(PGConnection.class)
          .getCopyAPI()
          .copyIn(
              "COPY payrelay.payment (payment_id, merchant, merchant_order_id, provider, amount_minor, currency)"
                  + " FROM STDIN",
              new StringReader("copied_1\tshop\tcopied_1\tsimulator\t5\tEUR\n"));

      assertThat(value(owner, "SELECT status FROM payrelay.payment WHERE payment_id = 'copied_1'"))
          .isEqualTo("CREATED");
    }
  }
}
