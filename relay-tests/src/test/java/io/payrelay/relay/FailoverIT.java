package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.payrelay.localstack.LocalPostgres;
import io.payrelay.localstack.TestInfra;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledIfSystemProperty;
import org.junit.jupiter.api.io.TempDir;

/** A real standby is promoted and takes over the primary's address, as behind a virtual one. */
@Timeout(180)
@DisabledIfSystemProperty(
    named = "payrelay.postgresMajorVersion",
    matches = "15|16",
    disabledReason = "failover slots came with 17")
class FailoverIT {

  private static final Map<String, String> SETTINGS =
      Map.of("PAYRELAY_RELAY_SLOT_FAILOVER", "true");

  @TempDir Path standbyDir;

  @Test
  void relayStreamsOnFromAStandbyThatHadEverything() throws Exception {
    try (LocalPostgres primary =
            LocalPostgres.builder().setting("synchronized_standby_slots", "local_standby").start();
        LocalPostgres standby = standbyOf(primary)) {
      RelayFixture fixture = fixture(primary).prepared();
      try (OutboxOracle oracle = fixture.oracle()) {
        Relay relay = fixture.startActive();
        fixture.insertCommitted(20, 3);
        awaitSyncedSlot(standby, fixture);
        AtomicLong committed = new AtomicLong();
        CompletableFuture<Void> load =
            CompletableFuture.runAsync(() -> writeUntilRefused(fixture, committed));
        await().atMost(Duration.ofSeconds(30)).until(() -> committed.get() > 200);

        // In the middle of the load.
        primary.kill();
        load.join();
        try (LocalPostgres promoted = promotedAtTheAddressOf(primary, standby)) {
          RelayFixture.awaitState(relay, RelayState.ACTIVE);
          fixture.insertCommitted(20, 3);

          OutboxOracle.Verdict verdict = oracle.await(Duration.ofSeconds(30));
          assertThat(verdict.rows()).isGreaterThan(300);
          assertThat(verdict.clean()).as("%s", verdict).isTrue();
          assertThat(fixture.position().origin().timeline()).isEqualTo(2);
          assertThat(promoted.port()).isEqualTo(primary.port());

          // The new timeline is the position's own from now on.
          relay.close();
          fixture.startActive();
          fixture.insertCommitted(1, 1);
          assertThat(oracle.await(Duration.ofSeconds(30)).clean()).isTrue();
          fixture.close();
        }
      }
    }
  }

  @Test
  void standbyThatForkedBeforeThePositionIsRefused() throws Exception {
    try (LocalPostgres primary = LocalPostgres.builder().start();
        LocalPostgres standby = standbyOf(primary)) {
      RelayFixture fixture = fixture(primary).prepared();
      try (OutboxOracle oracle = fixture.oracle()) {
        Relay relay = fixture.startActive();
        fixture.insertCommitted(5, 2);
        awaitSyncedSlot(standby, fixture);
        standby.stop();
        // Kafka gets what the standby never will.
        fixture.insertCommitted(5, 2);
        assertThat(oracle.await(Duration.ofSeconds(20)).clean()).isTrue();
        primary.kill();
        standby.start();
        try (LocalPostgres promoted = promotedAtTheAddressOf(primary, standby)) {
          assertThat(RelayFixture.refusal(relay))
              .contains("PostgreSQL's timeline 2 left timeline 1 at")
              .contains("before the relay's position")
              .contains("payrelay relay recover");

          fixture.insertCommitted(3, 1);
          assertThat(RelayFixture.refusal(fixture.start())).contains("left timeline 1 at");
          OutboxOracle.Verdict verdict = oracle.await(Duration.ofSeconds(1));
          assertThat(verdict.lost()).isEqualTo(3);
          assertThat(verdict.duplicated()).isZero();
          assertThat(promoted.port()).isEqualTo(primary.port());
          fixture.close();
        }
      }
    }
  }

  private LocalPostgres standbyOf(LocalPostgres primary) {
    return LocalPostgres.builder().dataDir(standbyDir).standbyOf(primary).start();
  }

  private static RelayFixture fixture(LocalPostgres primary) {
    return new RelayFixture(
        primary.jdbcUrl(), primary.user(), TestInfra.shared().bootstrapServers(), SETTINGS);
  }

  private LocalPostgres promotedAtTheAddressOf(LocalPostgres primary, LocalPostgres standby) {
    standby.promote();
    standby.close();
    return LocalPostgres.builder().dataDir(standbyDir).port(primary.port()).start();
  }

  private static void writeUntilRefused(RelayFixture fixture, AtomicLong committed) {
    try (Connection connection = fixture.connect()) {
      while (true) {
        fixture.insert(connection, 2);
        committed.addAndGet(2);
      }
    } catch (SQLException e) {
      // The server has been killed, which is how the load ends.
      assertThat(committed).hasPositiveValue();
    }
  }

  private static void awaitSyncedSlot(LocalPostgres standby, RelayFixture fixture) {
    await()
        .atMost(Duration.ofSeconds(60))
        .until(
            () -> {
              try (Connection connection =
                      DriverManager.getConnection(standby.jdbcUrl(), standby.user(), "any");
                  Statement statement = connection.createStatement();
                  ResultSet rows =
                      statement.executeQuery(
                          "SELECT synced AND NOT temporary FROM pg_replication_slots WHERE slot_name = '%s'"
                              .formatted(fixture.config.slotName()))) {
                return rows.next() && rows.getBoolean(1);
              }
            });
  }
}
