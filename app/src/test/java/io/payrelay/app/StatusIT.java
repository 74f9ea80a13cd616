package io.payrelay.app;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.payrelay.localstack.TestDatabase;
import io.payrelay.localstack.TestInfra;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.HashMap;
import java.util.Map;
import org.jdbi.v3.core.Jdbi;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import picocli.CommandLine;

/** {@code payrelay status} as an operator with the least rights. */
@Timeout(120)
final class StatusIT {

  private static final String SLOT = "status_" + System.nanoTime();
  private static final Map<String, String> OPERATOR = new HashMap<>();
  private static TestDatabase database;

  private record Result(int exitCode, String out, String err) {}

  @BeforeAll
  static void migrate() {
    database = TestInfra.shared().newDatabase();
    Map<String, String> owner = new HashMap<>();
    owner.put("PAYRELAY_DATABASE_URL", database.jdbcUrl());
    owner.put("PAYRELAY_DATABASE_USER", database.user());
    owner.put("PAYRELAY_DATABASE_PASSWORD", database.password());
    owner.put("PAYRELAY_KAFKA_BOOTSTRAP_SERVERS", TestInfra.shared().bootstrapServers());
    owner.put("PAYRELAY_RELAY_SLOT_NAME", SLOT);
    Parts.migrate(owner);
    owner()
        .useHandle(
            handle ->
                handle.execute(
                    "CREATE ROLE %1$s LOGIN PASSWORD 'any' IN ROLE payrelay_operator"
                        .formatted(SLOT)));
    OPERATOR.putAll(owner);
    OPERATOR.put("PAYRELAY_DATABASE_USER", SLOT);
    OPERATOR.put("PAYRELAY_DATABASE_PASSWORD", "any");
  }

  @AfterAll
  static void dropSlot() {
    owner().useHandle(handle -> handle.execute("SELECT pg_drop_replication_slot(?)", SLOT));
  }

  @Test
  void saysHowSlotTopicsAndPositionStandAndWhatBreaksThePromises() throws Exception {
    Result result = run(OPERATOR, "--json");

    assertThat(result.exitCode()).isZero();
    JsonNode status = new ObjectMapper().readTree(result.out());
    JsonNode slot = status.path("replication_slots").get(0);
    assertThat(slot.path("slot_name").textValue()).isEqualTo(SLOT);
    assertThat(slot.path("lag_bytes").isNumber()).isTrue();
    assertThat(slot.path("wal_status").textValue()).isEqualTo("reserved");
    assertThat(status.path("relay_position").get(0).path("position").textValue())
        .matches("[0-9A-F]+/[0-9A-F]+");
    assertThat(status.path("outbox_partitions").get(0).path("days_ahead").intValue())
        .isGreaterThanOrEqualTo(6);
    assertThat(status.path("topics").findValuesAsText("topic"))
        .contains("payrelay.charge-requests", "payrelay.relay-position." + SLOT);
    assertThat(status.path("topics").get(0).path("end_offsets").get(0).isNumber()).isTrue();
    assertThat(status.path("consumer_groups").get(0).path("lag").isNumber()).isTrue();
    assertThat(status.path("no_answer").isEmpty()).isTrue();
    assertThat(status.path("warnings"))
        .anySatisfy(warning -> assertThat(warning.textValue()).contains("Replication factor"))
        .anySatisfy(
            warning -> assertThat(warning.textValue()).isEqualTo("No relay owns slot " + SLOT));
  }

  @Test
  void saysTheSameForAPerson() {
    Result result = run(OPERATOR);

    assertThat(result.exitCode()).isZero();
    assertThat(result.out())
        .contains(
            "replication slots:\n  slot_name=" + SLOT,
            "relay position:\n  slot_name=" + SLOT,
            "topics:\n",
            "consumer groups:\n",
            "outbox partitions:\n",
            "warnings:\n");
    assertThat(result.err()).isEmpty();
  }

  @Test
  void tellsTheDatabasesPartWhereKafkaIsAway() {
    Map<String, String> environment = new HashMap<>(OPERATOR);
    environment.put("PAYRELAY_KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:1");

    Result result = run(environment);

    assertThat(result.exitCode()).isEqualTo(CommandLines.EXIT_RETRIABLE);
    assertThat(result.out()).contains("slot_name=" + SLOT, "payments").doesNotContain("topics:");
    assertThat(result.err()).startsWith("no answer:\n  Kafka does not answer at 127.0.0.1:1");
  }

  @Test
  void tellsKafkasPartWhereTheDatabaseIsAway() {
    Map<String, String> environment = new HashMap<>(OPERATOR);
    environment.put("PAYRELAY_DATABASE_URL", "jdbc:postgresql://127.0.0.1:1/payrelay");
    environment.put("PAYRELAY_DATABASE_CONNECT_TIMEOUT_MS", "1000");

    Result result = run(environment);

    assertThat(result.exitCode()).isEqualTo(CommandLines.EXIT_RETRIABLE);
    assertThat(result.out())
        .contains("relay position:", "topics:")
        .doesNotContain("replication slots");
    assertThat(result.err()).startsWith("no answer:\n  No connection to the database");
  }

  @Test
  void asksTheDatabaseAloneWhereKafkaIsNotNamed() {
    Map<String, String> environment = new HashMap<>(OPERATOR);
    environment.remove("PAYRELAY_KAFKA_BOOTSTRAP_SERVERS");

    Result result = run(environment);

    assertThat(result.exitCode()).isZero();
    assertThat(result.out()).contains("PAYRELAY_KAFKA_BOOTSTRAP_SERVERS is not set");
  }

  private static Jdbi owner() {
    return Jdbi.create(database.jdbcUrl(), database.user(), database.password());
  }

  private static Result run(Map<String, String> environment, String... options) {
    CommandLine commandLine = CommandLines.of(new PayrelayCommand(environment));
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    commandLine.setOut(new PrintWriter(out));
    commandLine.setErr(new PrintWriter(err));
    String[] arguments = new String[options.length + 1];
    arguments[0] = "status";
    System.arraycopy(options, 0, arguments, 1, options.length);
    return new Result(commandLine.execute(arguments), out.toString(), err.toString());
  }
}
