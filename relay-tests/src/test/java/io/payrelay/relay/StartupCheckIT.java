package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.payrelay.schemas.Topic;
import java.sql.Connection;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a relay refuses: it says what to run, and publishes nothing. */
@Timeout(90)
class StartupCheckIT {

  private static final Duration QUIET = Duration.ofSeconds(1);

  @Test
  void slotThatIsGoneIsRefused() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared().prepared();
        OutboxOracle oracle = fixture.oracle()) {
      fixture.insertCommitted(2, 2);
      fixture.execute("SELECT pg_drop_replication_slot('%s')".formatted(fixture.config.slotName()));

      assertThat(RelayFixture.refusal(fixture.start()))
          .contains("Replication slot " + fixture.config.slotName() + " is gone")
          .contains("payrelay relay recover");

      publishedNothing(oracle, 4);
      assertThat(
              fixture.query(
                  "SELECT count(*) FROM pg_replication_slots WHERE slot_name = '%s'"
                      .formatted(fixture.config.slotName())))
          .isEqualTo("0");
    }
  }

  @Test
  void slotThatSomebodyAdvancedIsRefused() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared().prepared();
        OutboxOracle oracle = fixture.oracle()) {
      fixture.insertCommitted(3, 1);
      fixture.execute(
          "SELECT pg_replication_slot_advance('%s', pg_current_wal_lsn())"
              .formatted(fixture.config.slotName()));

      assertThat(RelayFixture.refusal(fixture.start()))
          .contains("beyond the relay's position")
          .contains("payrelay relay recover");

      publishedNothing(oracle, 3);
    }
  }

  @Test
  void publicationThatIsMissingOrOtherwiseMadeIsRefused() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared().prepared();
        OutboxOracle oracle = fixture.oracle()) {
      String list =
          "(event_id, aggregate_type, aggregate_id, event_type, payload, trace_id, traceparent)";
      String root = "publish = 'insert', publish_via_partition_root = true";
      fixture.execute("DROP PUBLICATION payrelay_outbox");
      fixture.insertCommitted(1, 2);
      assertThat(RelayFixture.refusal(fixture.start()))
          .contains("Publication payrelay_outbox does not exist")
          .contains("payrelay migrate");
      refusesPublication(
          fixture, "TABLE payrelay.outbox WITH (%s)".formatted(root), "must have the columns");
      refusesPublication(
          fixture,
          "TABLE payrelay.outbox WITH (publish = 'insert')",
          "must publish inserts only, by the partition root");
      refusesPublication(
          fixture,
          "TABLE payrelay.outbox %s WHERE (trace_id <> '') WITH (%s)".formatted(list, root),
          "all rows");
      refusesPublication(
          fixture,
          "TABLE payrelay.outbox %s, payrelay.payment WITH (%s)".formatted(list, root),
          "alone");
      refusesPublication(fixture, "ALL TABLES WITH (%s)".formatted(root), "alone");

      // As it must be, but the rows of the time without it may never come.
      fixture.execute("DROP PUBLICATION payrelay_outbox");
      fixture.bootstrap(step -> {}).run();
      assertThat(RelayFixture.refusal(fixture.start()))
          .contains("altered or made anew")
          .contains("payrelay relay recover");

      publishedNothing(oracle, 2);
    }
  }

  @Test
  void positionThatKafkaHasLostIsRefused() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared().prepared();
        OutboxOracle oracle = fixture.oracle();
        Admin admin = Admin.create(fixture.kafka().clientProperties("test"))) {
      fixture.insertCommitted(1, 3);
      Topic topic = Topic.relayPosition(fixture.config.slotName());
      admin.deleteTopics(List.of(topic.name())).all().get();

      assertThat(RelayFixture.refusal(fixture.start()))
          .contains("Topic %s does not exist".formatted(topic.name()))
          .contains("payrelay migrate");
      assertThatThrownBy(() -> fixture.bootstrap(step -> {}).run())
          .hasMessageContaining("no position in Kafka")
          .hasMessageContaining("payrelay relay recover");
      admin
          .createTopics(
              List.of(
                  new NewTopic(topic.name(), Optional.of(1), Optional.empty())
                      .configs(topic.configuration())))
          .all()
          .get();
      assertThat(RelayFixture.refusal(fixture.start()))
          .contains("has no position in Kafka")
          .contains("payrelay relay recover");

      publishedNothing(oracle, 3);
    }
  }

  @Test
  void userWithoutTheRoleIsToldWhichRightIsMissing() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared().prepared()) {
      fixture.execute("REVOKE payrelay_relay FROM " + fixture.relayUser);
      assertThat(RelayFixture.refusal(fixture.start()))
          .contains("User %s lacks USAGE on schema payrelay".formatted(fixture.relayUser))
          .contains("GRANT payrelay_relay TO " + fixture.relayUser);

      fixture.execute("GRANT payrelay_relay TO " + fixture.relayUser);
      fixture.execute("REVOKE UPDATE ON payrelay.relay_owner FROM payrelay_relay");
      assertThat(RelayFixture.refusal(fixture.start()))
          .contains("lacks UPDATE on payrelay.relay_owner:");
      fixture.execute("GRANT UPDATE ON payrelay.relay_owner TO payrelay_relay");

      fixture.execute("ALTER ROLE %s NOREPLICATION".formatted(fixture.relayUser));
      assertThat(RelayFixture.refusal(fixture.start()))
          .contains("run ALTER ROLE %s REPLICATION".formatted(fixture.relayUser));
      fixture.execute("ALTER ROLE %s REPLICATION".formatted(fixture.relayUser));

      fixture.startActive();
    }
  }

  @Test
  void failoverSlotIsMadeWhereTheServerCan() throws Exception {
    Map<String, String> failover = Map.of("PAYRELAY_RELAY_SLOT_FAILOVER", "true");
    try (RelayFixture fixture = RelayFixture.shared(failover)) {
      if (fixture.serverMajorVersion() < 17) {
        assertThatThrownBy(fixture::prepared)
            .hasMessageContaining("PAYRELAY_RELAY_SLOT_FAILOVER is true")
            .hasMessageContaining("set it to false");
        return;
      }
      fixture.prepared();
      assertThat(isFailover(fixture)).isEqualTo("t");

      // Turned off by somebody, or made before the setting was turned on.
      try (Connection commands =
              DatabaseConnection.openReplication(
                  fixture.database(fixture.relayUser), "test", QUIET);
          Statement statement = commands.createStatement()) {
        statement.execute(
            "ALTER_REPLICATION_SLOT %s ( FAILOVER false )".formatted(fixture.config.slotName()));
      }
      assertThat(isFailover(fixture)).isEqualTo("f");
      fixture.startActive();
      assertThat(isFailover(fixture)).isEqualTo("t");
    }
  }

  private static String isFailover(RelayFixture fixture) throws Exception {
    return fixture.query(
        "SELECT failover FROM pg_replication_slots WHERE slot_name = '%s'"
            .formatted(fixture.config.slotName()));
  }

  private static void refusesPublication(RelayFixture fixture, String what, String sentence)
      throws Exception {
    fixture.execute("DROP PUBLICATION IF EXISTS payrelay_outbox");
    fixture.execute("CREATE PUBLICATION payrelay_outbox FOR " + what);
    assertThat(RelayFixture.refusal(fixture.start()))
        .contains("Publication payrelay_outbox must")
        .contains(sentence)
        .contains("payrelay relay recover");
  }

  private static void publishedNothing(OutboxOracle oracle, int rows) throws Exception {
    OutboxOracle.Verdict verdict = oracle.await(QUIET);
    assertThat(verdict.rows()).isEqualTo(rows);
    assertThat(verdict.lost()).isEqualTo(rows);
    assertThat(verdict.invented()).isZero();
  }
}
