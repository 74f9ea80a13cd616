package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.payrelay.localstack.LocalPostgres;
import io.payrelay.localstack.TestInfra;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class SlotLossIT {

  private static final Duration LIMIT = Duration.ofSeconds(30);

  private static double safeWalBytes(RelayFixture fixture) {
    return fixture.meters.get("payrelay.relay.slot.safe.wal").gauge().value();
  }

  @Test
  void slotWhoseWalIsRemovedAndAServerWithoutLogicalDecodingAreRefused() throws Exception {
    try (LocalPostgres server =
            LocalPostgres.builder()
                .setting("max_slot_wal_keep_size", "1MB")
                .setting("max_replication_slots", "1")
                .setting("min_wal_size", "32MB")
                .setting("max_wal_size", "32MB")
                .start();
        RelayFixture fixture =
            new RelayFixture(
                    server.jdbcUrl(),
                    server.user(),
                    TestInfra.shared().bootstrapServers(),
                    Map.of())
                .prepared();
        OutboxOracle oracle = fixture.oracle()) {
      // The limit is set: the gauge on which the alarm stands is a number.
      try (Relay relay = fixture.startActive()) {
        await().atMost(LIMIT).until(() -> safeWalBytes(fixture) > 0);
        assertThat(safeWalBytes(fixture)).isLessThan(100_000_000);
        assertThat(relay.state()).isEqualTo(RelayState.ACTIVE);
      }
      fixture.insertCommitted(2, 2);
      for (int segment = 0; segment < 4; segment++) {
        fixture.execute("SELECT pg_logical_emit_message(false, 'filler', repeat('x', 9000000))");
        fixture.execute("SELECT pg_switch_wal()");
      }
      fixture.execute("CHECKPOINT");
      assertThat(
              fixture.query(
                  "SELECT wal_status FROM pg_replication_slots WHERE slot_name = '%s'"
                      .formatted(fixture.config.slotName())))
          .isEqualTo("lost");

      assertThat(RelayFixture.refusal(fixture.start()))
          .contains("PostgreSQL has removed WAL that slot " + fixture.config.slotName())
          .contains("max_slot_wal_keep_size")
          .contains("payrelay relay recover");
      assertThatThrownBy(() -> fixture.bootstrap(step -> {}).run())
          .hasMessageContaining("max_slot_wal_keep_size");
      assertThat(oracle.await(Duration.ofSeconds(1)).lost()).isEqualTo(4);

      server.createDatabase("other");
      try (RelayFixture second =
          new RelayFixture(
              server.jdbcUrl("other"),
              server.user(),
              TestInfra.shared().bootstrapServers(),
              Map.of())) {
        assertThatThrownBy(() -> second.bootstrap(step -> {}).run())
            .hasMessageContaining("no replication slot left")
            .hasMessageContaining("max_replication_slots");
      }

      // A server with a logical slot does not start without logical decoding.
      fixture.execute("SELECT pg_drop_replication_slot('%s')".formatted(fixture.config.slotName()));
      fixture.execute("ALTER SYSTEM SET wal_level = 'replica'");
      server.restart();
      assertThat(RelayFixture.refusal(fixture.start()))
          .contains("wal_level is replica: set wal_level = logical");
      assertThatThrownBy(() -> fixture.bootstrap(step -> {}).run())
          .hasMessageContaining("wal_level is replica");
      assertThat(oracle.await(Duration.ofSeconds(1)).lost()).isEqualTo(4);
    }
  }
}
