package io.payrelay.relay;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.payrelay.schemas.Topic;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.config.ConfigResource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Rows that cannot be published, on real servers: each is set aside and the stream goes on. */
@Timeout(120)
class PoisonIT {

  private static final Duration LIMIT = Duration.ofSeconds(40);
  private static final String BYTES_MAX = "max.message.bytes";

  private record Poison(String type, String payload, String code) {}

  private static String charge(String merchant, String amount) {
    return """
        {"payment_id":"p","merchant":"%s","merchant_order_id":"o","provider":"x","amount_minor":%s,"currency":"EUR"}
        """
        .formatted(merchant, amount)
        .strip();
  }

  private static Poison mismatch(String payload) {
    return new Poison("ChargeRequested", payload, "mismatch");
  }

  private static List<Poison> poison() {
    List<Poison> poison = new ArrayList<>();
    Stream.of("9223372036854775808", "-9223372036854775809", "1e400", "1e3", "1.0", "\"1\"")
        .forEach(amount -> poison.add(mismatch(charge("m", amount))));
    poison.add(mismatch(charge("m", "true")));
    poison.add(mismatch(charge("\\ud800", "1")));
    poison.add(mismatch(charge("\\udc00\\ud800", "1")));
    poison.add(mismatch(charge("\\u0000", "1")));
    poison.add(mismatch(charge("m", "1").replace("}", ",\"card\":1}")));
    poison.add(mismatch("{\"payment_id\": 17}"));
    poison.add(mismatch("{}"));
    poison.add(mismatch("[]"));
    poison.add(mismatch("7"));
    poison.add(mismatch("\"" + "x".repeat(890_000) + "\""));
    poison.add(mismatch("[" + "1,".repeat(440_000) + "1]"));
    poison.add(new Poison("ChargeRequested", "null", "json_null"));
    poison.add(new Poison("ChargeRequested", " null\n", "json_null"));
    poison.add(new Poison("NobodyKnows", charge("m", "1"), "unknown_type"));
    poison.add(new Poison("NobodyKnows", "null", "unknown_type"));
    poison.add(
        new Poison(
            "ChargeRequested", charge("m", "1").replace("}", ",\"p\":1,\"p\":2}"), "not_json"));
    poison.add(new Poison("ChargeRequested", "[".repeat(2000) + "]".repeat(2000), "not_json"));
    poison.add(new Poison("ChargeRequested", charge("m", "1".repeat(2000)), "not_json"));
    return poison;
  }

  @Test
  void eachRowThatCannotBeEncodedIsSetAsideWithItsReasonInTheSameTransaction() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared().prepared();
        OutboxOracle oracle = fixture.oracle()) {
      // The first try to publish them fails just before the commit: neither they nor what came
      // with them may come twice.
      FaultPlan plan = FaultPlan.failAt(RelayFaults.Point.AFTER_SENDS, 1);
      RelayFixture.awaitState(fixture.start(plan), RelayState.ACTIVE);
      List<Poison> poison = poison();
      try (Connection connection = fixture.connect()) {
        connection.setAutoCommit(false);
        for (Poison one : poison) {
          fixture.insert(connection, 1);
          insert(connection, one.type(), one.payload());
        }
        // Odd, but legal.
        insert(connection, "ChargeRequested", charge("\\ud83d\\ude00", "-0"));
        connection.commit();
      }
      fixture.insertCommitted(3, 2);

      OutboxOracle.Verdict verdict = oracle.await(LIMIT);

      assertThat(plan.wasReached()).isTrue();
      assertThat(verdict.clean()).as("%s", verdict).isTrue();
      assertThat(verdict.rows()).isEqualTo(poison.size() * 2L + 7);
      assertThat(oracle.deadLetters())
          .extracting(letter -> header(letter, "reason_code"))
          .containsExactlyElementsOf(poison.stream().map(Poison::code).toList());
      for (int i = 0; i < poison.size(); i++) {
        ConsumerRecord<byte[], byte[]> letter = oracle.deadLetters().get(i);
        assertThat(new String(letter.value(), UTF_8)).isEqualTo(poison.get(i).payload());
        assertThat(header(letter, "reason")).isNotBlank().doesNotContain("9223372036854775808");
        assertThat(header(letter, "position")).matches("[0-9A-F]+/[0-9A-F]+ of transaction \\d+");
        assertThat(header(letter, "original_type")).isEqualTo(poison.get(i).type());
        assertThat(header(letter, "payload_truncated")).isEqualTo("false");
        assertThat(header(letter, "source")).isEqualTo("relay");
      }
      for (String code : List.of("mismatch", "json_null", "unknown_type", "not_json")) {
        assertThat(counted(fixture, code))
            .isEqualTo((double) poison.stream().filter(one -> one.code().equals(code)).count());
      }
    }
  }

  @Test
  void recordOverTheTopicsLimitIsSetAsideHoweverWellItCompresses() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared().prepared();
        OutboxOracle oracle = fixture.oracle();
        Limits limits = new Limits(fixture)) {
      limits.set(Topic.CHARGE_REQUESTS, 20_000);
      fixture.startActive();
      fixture.insertCommitted(1, 2);
      insert(fixture, charge("x".repeat(100_000), "1"));
      insert(fixture, charge(incompressible(100_000), "1"));
      fixture.insertCommitted(1, 2);

      OutboxOracle.Verdict verdict = oracle.await(LIMIT);

      assertThat(verdict.clean()).as("%s", verdict).isTrue();
      assertThat(oracle.deadLetters())
          .hasSize(2)
          .allSatisfy(
              letter ->
                  assertThat(header(letter, "reason"))
                      .isEqualTo(
                          "record is larger than the 20000 bytes of " + Topic.CHARGE_REQUESTS));
      assertThat(counted(fixture, "too_large")).isEqualTo(2);
      assertThat(fixture.meters.get("payrelay.relay.recoveries").counter().count()).isZero();
    }
  }

  @Test
  void limitLoweredWhileTheRelayRunsStopsNothing() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared().prepared();
        OutboxOracle oracle = fixture.oracle();
        Limits limits = new Limits(fixture)) {
      fixture.startActive();
      fixture.insertCommitted(1, 2);
      limits.set(Topic.CHARGE_REQUESTS, 20_000);
      limits.set(Topic.DEAD_LETTER, 20_000);
      fixture.insertCommitted(1, 2);
      // The one is refused as an event, the other as a dead letter.
      insert(fixture, charge(incompressible(300_000), "1"));
      insert(fixture, "[\"" + incompressible(300_000) + "\"]");
      fixture.insertCommitted(2, 2);

      OutboxOracle.Verdict verdict = oracle.await(LIMIT);

      assertThat(verdict.clean()).as("%s", verdict).isTrue();
      assertThat(verdict.rows()).isEqualTo(10);
      assertThat(oracle.deadLetters())
          .hasSize(2)
          .allSatisfy(
              letter -> {
                assertThat(header(letter, "payload_truncated")).isEqualTo("true");
                assertThat(letter.value().length).isBetween(1000, 20_000);
              });
      assertThat(fixture.meters.get("payrelay.relay.recoveries").counter().count())
          .isBetween(1.0, 6.0);
    }
  }

  @Test
  void deadLetterTopicThatTakesTooLittleIsRefusedAtTheStart() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared().prepared();
        Limits limits = new Limits(fixture)) {
      limits.set(Topic.DEAD_LETTER, 10_000);

      assertThat(RelayFixture.refusal(fixture.start()))
          .contains("payrelay.dead-letter takes records of 10000 bytes only")
          .contains("max.message.bytes to 16384");
    }
  }

  private static double counted(RelayFixture fixture, String code) {
    return fixture.meters.get("payrelay.relay.dead.letters").tag("reason", code).counter().count();
  }

  private static void insert(RelayFixture fixture, String payload) throws SQLException {
    try (Connection connection = fixture.connect()) {
      insert(connection, "ChargeRequested", payload);
    }
  }

  private static void insert(Connection connection, String type, String payload)
      throws SQLException {
    try (PreparedStatement statement =
        connection.prepareStatement(
            """
            INSERT INTO payrelay.outbox (aggregate_type, aggregate_id, event_type, payload)
            VALUES ('payment', 'poison', ?, ?::json)
            """)) {
      statement.setString(1, type);
      statement.setString(2, payload);
      statement.executeUpdate();
    }
  }

  private static String incompressible(int length) {
    byte[] bytes = new byte[length / 2];
    new Random(3).nextBytes(bytes);
    return HexFormat.of().formatHex(bytes);
  }

  private static String header(ConsumerRecord<byte[], byte[]> record, String name) {
    return new String(record.headers().lastHeader(name).value(), UTF_8);
  }

  /** Limits of topics, as an operator changes them; taken back at the end. */
  private static final class Limits implements AutoCloseable {

    private final Admin admin;
    private final List<String> changed = new ArrayList<>();

    Limits(RelayFixture fixture) {
      admin = Admin.create(fixture.kafka().clientProperties("limits"));
    }

    void set(String topic, int bytes) {
      changed.add(topic);
      alter(topic, new AlterConfigOp(entry(bytes), AlterConfigOp.OpType.SET));
      await().atMost(LIMIT).until(() -> limit(topic).equals(Integer.toString(bytes)));
    }

    private String limit(String topic) {
      ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
      return Futures.get(admin.describeConfigs(List.of(resource)).all())
          .get(resource)
          .get(BYTES_MAX)
          .value();
    }

    private void alter(String topic, AlterConfigOp op) {
      ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
      Futures.get(admin.incrementalAlterConfigs(Map.of(resource, List.of(op))).all());
    }

    private static ConfigEntry entry(int bytes) {
      return new ConfigEntry(BYTES_MAX, Integer.toString(bytes));
    }

    @Override
    public void close() {
      for (String topic : changed) {
        alter(topic, new AlterConfigOp(entry(0), AlterConfigOp.OpType.DELETE));
      }
      admin.close();
    }
  }
}
