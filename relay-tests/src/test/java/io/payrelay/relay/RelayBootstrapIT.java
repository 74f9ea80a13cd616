package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.payrelay.localstack.TestDatabase;
import io.payrelay.localstack.TestInfra;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.schemas.Topic;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(90)
class RelayBootstrapIT {

  @ParameterizedTest
  @EnumSource(RelayBootstrap.Step.class)
  void canBeRunAgainAfterACrashAtAnyPoint(RelayBootstrap.Step step) throws Exception {
    try (RelayFixture fixture = RelayFixture.shared();
        OutboxOracle oracle = oracleOf(fixture)) {
      assertThatThrownBy(
              () ->
                  fixture
                      .bootstrap(
                          done -> {
                            if (done == step) {
                              throw new IllegalStateException("simulated crash");
                            }
                          })
                      .run())
          .hasMessage("simulated crash");
      assertThat(upstreamMayInsert(fixture)).isEqualTo(step == RelayBootstrap.Step.GRANTS);

      fixture.prepared();
      assertThat(upstreamMayInsert(fixture)).isTrue();
      fixture.insertCommitted(2, 2);
      fixture.startActive();

      OutboxOracle.Verdict verdict = oracle.await(Duration.ofSeconds(20));
      assertThat(verdict.rows()).isEqualTo(4);
      assertThat(verdict.clean()).as("%s", verdict).isTrue();
    }
  }

  @Test
  void ownerNeedsNoSuperuser() throws Exception {
    TestDatabase database = TestInfra.shared().newDatabase();
    String owner = database.name() + "_owner";
    try (Connection connection =
            DriverManager.getConnection(database.jdbcUrl(), database.user(), database.password());
        Statement superuser = connection.createStatement()) {
      superuser.execute("CREATE ROLE %s LOGIN CREATEROLE REPLICATION".formatted(owner));
      superuser.execute("ALTER DATABASE %s OWNER TO %s".formatted(database.name(), owner));
      try (RelayFixture fixture =
          new RelayFixture(
              database.jdbcUrl(), owner, TestInfra.shared().bootstrapServers(), Map.of())) {
        fixture.bootstrap(step -> {}).run();
        superuser.execute("CREATE ROLE %s LOGIN REPLICATION".formatted(fixture.relayUser));
        superuser.execute("GRANT payrelay_relay TO " + fixture.relayUser);
        try (OutboxOracle oracle = fixture.oracle()) {
          fixture.startActive();
          fixture.insertCommitted(2, 2);

          assertThat(oracle.await(Duration.ofSeconds(20)).clean()).isTrue();
        }
      }
    }
  }

  @Test
  void neverOverwritesAPosition() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared().prepared()) {
      Relay relay = fixture.startActive();
      fixture.insertCommitted(5, 5);
      fixture.bootstrap(step -> {}).run();
      relay.close();
      Position before = fixture.position();

      fixture.bootstrap(step -> {}).run();

      assertThat(fixture.position()).isEqualTo(before);
    }
  }

  @Test
  void refusesWhatOnlyRecoverCanDecide() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared()) {
      failAfter(fixture, RelayBootstrap.Step.SLOT);
      fixture.insertCommitted(1, 1);
      refuses(fixture, "no position in Kafka");
      fixture.makeRelayUser();
      assertThat(RelayFixture.refusal(fixture.start())).contains("payrelay migrate");
    }
    try (RelayFixture fixture = RelayFixture.shared().prepared()) {
      dropSlot(fixture);
      refuses(fixture, "the slot is gone");
      assertThat(RelayFixture.refusal(fixture.start())).contains("payrelay relay recover");
    }
  }

  @Test
  void refusesTopicsAndPublicationsThatDiffer() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared();
        Admin admin = Admin.create(fixture.kafka().clientProperties("test"))) {
      String topic = Topic.relayPosition(fixture.config.slotName()).name();
      admin
          .createTopics(List.of(new NewTopic(topic, Optional.of(2), Optional.empty())))
          .all()
          .get();
      refuses(fixture, "has 2 partitions and must have 1");
      admin.deleteTopics(List.of(topic)).all().get();
      admin
          .createTopics(List.of(new NewTopic(topic, Optional.of(1), Optional.empty())))
          .all()
          .get();
      refuses(fixture, "cleanup.policy");
      fixture.execute("DROP PUBLICATION payrelay_outbox");
      fixture.execute("CREATE PUBLICATION payrelay_outbox FOR TABLE payrelay.outbox");
      refuses(fixture, "Publication payrelay_outbox");
    }
  }

  @Test
  void relayRefusesPositionsThatDoNotBelongToTheDatabase() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared().prepared()) {
      Position real = fixture.position();
      DatabaseIdentity origin = real.origin();

      write(fixture, Position.at(Long.MAX_VALUE / 2, origin));
      assertThat(RelayFixture.refusal(fixture.start())).contains("beyond the end of PostgreSQL");
      write(fixture, Position.at(16, origin));
      assertThat(RelayFixture.refusal(fixture.start())).contains("somebody else read from it");
      write(fixture, at(real, new DatabaseIdentity("1", origin.timeline(), id(origin))));
      assertThat(RelayFixture.refusal(fixture.start())).contains("another PostgreSQL");
      write(fixture, at(real, new DatabaseIdentity(origin.systemId(), 9, id(origin))));
      assertThat(RelayFixture.refusal(fixture.start())).contains("timeline");
      write(fixture, at(real, new DatabaseIdentity(origin.systemId(), origin.timeline(), "x")));
      assertThat(RelayFixture.refusal(fixture.start())).contains("another Kafka cluster");
      // The heartbeats' own messages are of another transaction than the one it waits for.
      write(fixture, new Position(real.commitLsn(), 0, 1, 5, origin));
      assertThat(RelayFixture.refusal(fixture.start())).contains("does not fit");
      write(fixture, real);
      fixture.startActive();
    }
  }

  @Test
  void relayRefusesADatabaseThatIsNotPrepared() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared()) {
      fixture.execute("CREATE ROLE %s LOGIN REPLICATION".formatted(fixture.relayUser));

      assertThat(RelayFixture.refusal(fixture.start())).contains("run `payrelay migrate`");
    }
    try (RelayFixture fixture = RelayFixture.shared().prepared()) {
      fixture.execute("ALTER ROLE %s NOREPLICATION".formatted(fixture.relayUser));

      assertThat(RelayFixture.refusal(fixture.start())).contains("REPLICATION");
    }
  }

  private static OutboxOracle oracleOf(RelayFixture fixture) {
    // The topics of the events must exist: another fixture's run makes them.
    try (Admin admin = Admin.create(fixture.kafka().clientProperties("test"))) {
      Topics.ensure(admin, Topic.all());
    }
    return fixture.oracle();
  }

  private static Position at(Position real, DatabaseIdentity origin) {
    return Position.at(real.commitLsn(), origin);
  }

  private static String id(DatabaseIdentity origin) {
    return origin.kafkaClusterId();
  }

  private static void failAfter(RelayFixture fixture, RelayBootstrap.Step step) {
    assertThatThrownBy(
            () ->
                fixture
                    .bootstrap(
                        done -> {
                          if (done == step) {
                            throw new IllegalStateException("simulated crash");
                          }
                        })
                    .run())
        .hasMessage("simulated crash");
  }

  private static void refuses(RelayFixture fixture, String sentence) {
    assertThatThrownBy(() -> fixture.bootstrap(step -> {}).run())
        .isInstanceOfSatisfying(
            PayrelayException.class, e -> assertThat(e.category()).isEqualTo(Category.FATAL))
        .hasMessageContaining(sentence);
  }

  private static boolean upstreamMayInsert(RelayFixture fixture) throws Exception {
    return "t"
        .equals(
            fixture.query(
                "SELECT has_column_privilege('payrelay_upstream', 'payrelay.outbox', 'payload', 'INSERT')"));
  }

  private static void dropSlot(RelayFixture fixture) throws Exception {
    fixture.execute("SELECT pg_drop_replication_slot('%s')".formatted(fixture.config.slotName()));
  }

  private static void write(RelayFixture fixture, Position position) {
    try (KafkaProducer<byte[], byte[]> producer =
        RelayProducer.make(fixture.kafka(), fixture.config, 1_000_000)) {
      producer.initTransactions();
      producer.beginTransaction();
      var unused =
          producer.send(
              new PositionStore(fixture.kafka(), fixture.config.slotName()).record(position));
      producer.commitTransaction();
    }
  }
}
