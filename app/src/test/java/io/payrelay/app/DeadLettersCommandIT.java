package io.payrelay.app;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.localstack.TestDatabase;
import io.payrelay.localstack.TestInfra;
import io.payrelay.schemas.Topic;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import picocli.CommandLine;

@Timeout(90)
final class DeadLettersCommandIT {

  private static final String PAYLOAD =
      """
      {"payment_id":"pay_000001","merchant":"4111 1111 1111 1111","merchant_order_id":"o","provider":"x","amount_minor":1,"currency":"EUR"}
      """
          .strip();

  private final TestInfra infra = TestInfra.shared();
  private final TestDatabase database = infra.newDatabase();
  private final String aggregate = "payment-" + UUID.randomUUID();
  private final String slot = "slot_" + database.name();
  private final Map<String, String> environment = new HashMap<>();

  private record Result(int exitCode, String out, String err) {}

  @BeforeEach
  void migrateAndWriteADeadLetter() throws Exception {
    environment.put("PAYRELAY_DATABASE_URL", database.jdbcUrl());
    environment.put("PAYRELAY_DATABASE_USER", database.user());
    environment.put("PAYRELAY_DATABASE_PASSWORD", database.password());
    environment.put("PAYRELAY_KAFKA_BOOTSTRAP_SERVERS", infra.bootstrapServers());
    environment.put("PAYRELAY_RELAY_SLOT_NAME", slot);
    Parts.migrate(environment);
    String eventId = UUID.randomUUID().toString();
    execute(
        "INSERT INTO payrelay.outbox (event_id, aggregate_type, aggregate_id, event_type, payload) VALUES ('%s', 'payment', '%s', 'ChargeRequested', '%s')"
            .formatted(eventId, aggregate, PAYLOAD));
    ProducerRecord<byte[], byte[]> letter =
        new ProducerRecord<>(Topic.DEAD_LETTER, aggregate.getBytes(UTF_8), PAYLOAD.getBytes(UTF_8));
    letter
        .headers()
        .add("ce_id", eventId.getBytes(UTF_8))
        .add("source", "relay".getBytes(UTF_8))
        .add("original_type", "ChargeRequested".getBytes(UTF_8))
        .add("reason_code", "mismatch".getBytes(UTF_8))
        .add("reason", "payload.merchant is not a string".getBytes(UTF_8));
    try (KafkaProducer<byte[], byte[]> producer =
        new KafkaProducer<>(
            Map.of("bootstrap.servers", infra.bootstrapServers()),
            new ByteArraySerializer(),
            new ByteArraySerializer())) {
      producer.send(letter).get();
    }
  }

  @AfterEach
  void dropSlot() throws SQLException {
    execute("SELECT pg_drop_replication_slot('%s')".formatted(slot));
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

  @Test
  void listsShowsAndRedrivesOnceAndKeepsTheRecord() {
    Result list = run("dead-letters", "list", "--aggregate-id", aggregate);
    assertThat(list.err()).isEmpty();
    assertThat(list.out())
        .contains("UNRESOLVED relay type=ChargeRequested aggregate=" + aggregate)
        .contains("reason=mismatch (payload.merchant is not a string)")
        .contains("1 shown, 1 of them unresolved");
    String id = list.out().substring(0, list.out().indexOf(' '));

    Result show = run("dead-letters", "show", id, "--full");
    assertThat(show.out()).contains("\"merchant\":\"************1111\"").doesNotContain("4111");

    String[] dry = {"dead-letters", "redrive", id, "--why", "schema mended", "--by", "someone"};
    assertThat(run(dry).out())
        .contains(id + " would be redriven to payrelay.charge-requests")
        .contains("nothing was done: add --execute");
    String[] all = {
      "dead-letters",
      "redrive",
      "--all",
      "--aggregate-id",
      aggregate,
      "--why",
      "schema mended",
      "--by",
      "someone",
      "--execute"
    };
    Result done = run(all);
    assertThat(done.out()).contains("redriven to payrelay.charge-requests").contains("1 of 1 done");
    assertThat(done.exitCode()).isZero();
    assertThat(run(all).out()).contains("0 of 0 done");
    Result again = run("dead-letters", "redrive", id, "--why", "x", "--execute");
    assertThat(again.exitCode()).isEqualTo(CommandLines.EXIT_FATAL);
    assertThat(again.out()).contains("is REDRIVEN already, by someone: schema mended");
    assertThat(run("dead-letters", "show", id).out()).contains("REDRIVEN by someone");
    assertThat(run("dead-letters", "list", "--unresolved", "--aggregate-id", aggregate).out())
        .contains("no dead letters");
  }

  @Test
  void warnsOfWhatKafkaLostAndGoesOnUntilSomebodyHasLooked() throws SQLException {
    assertThat(run("dead-letters", "list", "--aggregate-id", aggregate).err()).isEmpty();
    execute("UPDATE payrelay.dead_letter_progress SET next_offset = next_offset + 1000000");

    Result list = run("dead-letters", "list", "--aggregate-id", aggregate);

    assertThat(list.exitCode()).isZero();
    assertThat(list.out()).contains("1 shown, 1 of them unresolved");
    assertThat(list.err()).contains("warning: Kafka lost offsets").contains("dead-letters discard");
    String gaps = run("dead-letters", "list", "--source", "gap").out();
    String id = gaps.substring(0, gaps.indexOf(' '));
    assertThat(run("dead-letters", "discard", id, "--why", "looked", "--execute").out())
        .contains("1 of 1 done");
    assertThat(run("dead-letters", "list", "--aggregate-id", aggregate).err()).isEmpty();
  }

  @Test
  void discardsForGood() {
    String list = run("dead-letters", "list", "--since", "PT1H", "--aggregate-id", aggregate).out();
    String id = list.substring(0, list.indexOf(' '));

    assertThat(run("dead-letters", "discard", id, "--why", "test").out())
        .contains("would be discarded");
    assertThat(run("dead-letters", "discard", id, "--why", "test", "--execute").out())
        .contains("1 of 1 done");
    assertThat(run("dead-letters", "redrive", id, "--why", "x", "--execute").out())
        .contains("is DISCARDED already");
  }

  @Test
  void usageIsTold() {
    assertThat(run("dead-letters").err()).contains("list, show, redrive or discard");
    assertThat(run("dead-letters", "redrive", "1").exitCode()).isEqualTo(CommandLines.EXIT_USAGE);
    assertThat(run("dead-letters", "redrive", "--why", "x").exitCode())
        .isEqualTo(CommandLines.EXIT_USAGE);
    assertThat(run("dead-letters", "list", "--since", "yesterday").err())
        .contains("--since takes an instant");
  }
}
