package io.payrelay.relay;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.payrelay.schemas.Topic;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Utils;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

@Timeout(120)
class RelayRecoveryIT {

  @Test
  void publishesWhatIsMissingAfterTheSlotWasDropped() throws Exception {
    try (RecoveryFixture fixture = RecoveryFixture.prepared();
        Connection longOne = fixture.relay.connect()) {
      longOne.setAutoCommit(false);
      fixture.relay.insert(longOne, 20, "now() - interval '2 hours'", "l");
      poison(fixture);
      fixture.publish(20, 5);
      Position before = fixture.position();
      fixture.dropSlot();
      longOne.commit();
      fixture.relay.insertCommitted(1, 150);
      fixture.relay.insertCommitted(30, 3);
      poison(fixture);

      RecoveryReport planned = fixture.plan();
      RecoveryReport narrow =
          fixture
              .recovery(step -> {})
              .plan(new RecoveryOptions(Duration.ofHours(1), null, false, false));

      assertThat(planned.missing()).isEqualTo(20 + 150 + 90 + 1);
      assertThat(planned.rows()).isEqualTo(100 + 20 + 150 + 90 + 2);
      assertThat(planned.refusal()).isNull();
      assertThat(String.join("\n", planned.lines()))
          .contains("is gone")
          .contains("--longest-transaction PT24H")
          .contains("100 rows, and 1 as dead letters")
          .contains("payrelay.charge-requests ChargeRequested: 260, event ids ")
          .contains("payrelay.dead-letter NobodyKnowsIt: 1, event ids ");
      assertThat(narrow.missing()).as("misses the long one").isEqualTo(planned.missing() - 20);
      assertThat(fixture.slotExists()).isFalse();
      assertThat(fixture.position()).isEqualTo(before);
      assertThat(fixture.oracle.await(Duration.ofSeconds(1)).lost()).isEqualTo(261);

      assertThat(fixture.execute().missing()).isEqualTo(261);
      OutboxOracle.Verdict verdict = fixture.verdictAfterStreamingOn();
      assertThat(verdict.rows()).isEqualTo(371);
      assertThat(verdict.clean()).as("%s", verdict).isTrue();
      assertThat(fixture.oracle.recovered()).isEqualTo(261);
      assertThat(fixture.oracle.deadLetters()).hasSize(2);
    }
  }

  @Test
  void rowsOfTransactionsThatAreOpenMeanwhileComeOnce() throws Exception {
    try (RecoveryFixture fixture = RecoveryFixture.prepared();
        Connection before = fixture.relay.connect();
        Connection during = fixture.relay.connect()) {
      fixture.publish(5, 2);
      fixture.dropSlot();
      fixture.relay.insertCommitted(5, 2);
      before.setAutoCommit(false);
      during.setAutoCommit(false);
      fixture.relay.insert(before, 8, "now()", "b");

      CompletableFuture<RecoveryReport> running =
          CompletableFuture.supplyAsync(
              () ->
                  fixture
                      .recovery(
                          step -> {
                            if (step == RelayRecovery.Step.SLOT_MADE) {
                              insertUnchecked(fixture, during);
                            }
                          })
                      .execute(RecoveryOptions.defaults()));
      await()
          .atMost(Duration.ofSeconds(30))
          .until(() -> fixture.progress.stream().anyMatch(line -> line.contains("waits for open")));
      before.commit();

      assertThat(running.get().missing()).isEqualTo(10 + 8);
      fixture.relay.startActive();
      during.commit();
      OutboxOracle.Verdict verdict = fixture.oracle.await(Duration.ofSeconds(30));
      assertThat(verdict.rows()).isEqualTo(10 + 10 + 8 + 9);
      assertThat(verdict.clean()).as("%s", verdict).isTrue();
      assertThat(fixture.oracle.recovered()).isEqualTo(18);
    }
  }

  @Test
  void canBeRunAgainAfterACrashAtAnyPoint() throws Exception {
    try (RecoveryFixture fixture = RecoveryFixture.prepared()) {
      fixture.publish(3, 3);
      long rows = 9;
      for (RelayRecovery.Step step : RelayRecovery.Step.values()) {
        fixture.dropSlot();
        fixture.relay.insertCommitted(4, 40);

        crashAt(fixture, step);
        fixture.relay.insertCommitted(2, 2);
        RecoveryReport again = fixture.execute();

        assertThat(again.executed())
            .as("%s", step)
            .isEqualTo(step != RelayRecovery.Step.LAST_COMMITTED);
        rows += 164;
      }

      OutboxOracle.Verdict verdict = fixture.verdictAfterStreamingOn();
      assertThat(verdict.rows()).isEqualTo(rows + 9);
      assertThat(verdict.clean()).as("%s", verdict).isTrue();
    }
  }

  @Test
  void positionBeyondTheWalOfARestoredBackupIsReplaced() throws Exception {
    try (RecoveryFixture fixture = RecoveryFixture.prepared()) {
      fixture.publish(3, 3);
      Position real = fixture.position();
      // Kafka knows an end of the WAL that this server has not reached, or not reached again.
      fixture.write(
          new Position(real.commitLsn() + 4_000_000, real.commitTimeUsec(), 0, 0, real.origin()));
      fixture.relay.insertCommitted(10, 5);
      assertThat(RelayFixture.refusal(fixture.relay.start())).contains("beyond the end");
      assertThat(String.join("\n", fixture.plan().lines())).contains("beyond the end");

      crashAt(fixture, RelayRecovery.Step.SLOT_MADE);
      // Were the old position still as it was, a relay would take the new slot as soon as the WAL
      // has grown past it, and skip what lies between.
      fixture.relay.execute(
          "SELECT pg_logical_emit_message(false, 'test', repeat('x', 5000000)::text)");
      assertThat(RelayFixture.refusal(fixture.relay.start()))
          .contains("begun and not finished: run `payrelay relay recover --execute`");

      assertThat(fixture.execute().missing()).isEqualTo(50);
      OutboxOracle.Verdict verdict = fixture.verdictAfterStreamingOn();
      assertThat(verdict.rows()).isEqualTo(9 + 50 + 9);
      assertThat(verdict.clean()).as("%s", verdict).isTrue();
    }
  }

  @Test
  void positionsOfOtherServersAndSlotsThatWentAheadAreReplaced() throws Exception {
    try (RecoveryFixture fixture = RecoveryFixture.prepared()) {
      fixture.publish(3, 3);
      DatabaseIdentity origin = fixture.position().origin();
      Map<String, DatabaseIdentity> others =
          Map.of(
              "another PostgreSQL",
              new DatabaseIdentity("1", origin.timeline(), origin.kafkaClusterId()),
              "another Kafka cluster",
              new DatabaseIdentity(origin.systemId(), origin.timeline(), "x"));
      for (Map.Entry<String, DatabaseIdentity> other : others.entrySet()) {
        fixture.relay.insertCommitted(2, 4);
        Position real = fixture.position();
        fixture.write(
            new Position(real.commitLsn(), real.commitTimeUsec(), 0, 0, other.getValue()));
        assertThat(String.join("\n", fixture.plan().lines())).contains(other.getKey());

        assertThat(fixture.execute().missing()).isEqualTo(8);
        assertThat(fixture.position().origin()).isEqualTo(origin);
      }
      fixture.relay.insertCommitted(2, 4);
      fixture.relay.execute(
          "SELECT pg_replication_slot_advance('%s', pg_current_wal_lsn())"
              .formatted(fixture.relay.config.slotName()));
      assertThat(String.join("\n", fixture.plan().lines())).contains("somebody else read from it");

      assertThat(fixture.execute().missing()).isEqualTo(8);
      OutboxOracle.Verdict verdict = fixture.verdictAfterStreamingOn();
      assertThat(verdict.rows()).isEqualTo(9 + 24 + 9);
      assertThat(verdict.clean()).as("%s", verdict).isTrue();
    }
  }

  @Test
  void positionRecordOfAnotherProgramIsReplaced() throws Exception {
    try (RecoveryFixture fixture = RecoveryFixture.prepared()) {
      fixture.publish(5, 3);
      fixture.relay.insertCommitted(2, 2);
      for (String garbage : List.of("{\"commit_lsn\": 5}", "[]", "no json")) {
        fixture.write(fixture.relay.config.slotName(), garbage);
        assertThat(RelayFixture.refusal(fixture.relay.start()))
            .contains("position record cannot be read")
            .contains("payrelay relay recover");
      }
      assertThat(String.join("\n", fixture.plan().lines())).contains("record cannot be read");

      assertThat(fixture.execute().missing()).isEqualTo(4);
      // It stays on the topic, and nobody minds.
      fixture.write("somebody", "no json");
      OutboxOracle.Verdict verdict = fixture.verdictAfterStreamingOn();
      assertThat(verdict.rows()).isEqualTo(15 + 4 + 9);
      assertThat(verdict.clean()).as("%s", verdict).isTrue();
    }
  }

  @Test
  void positionOfATimeWhenTheClockWasAheadHidesNothing() throws Exception {
    try (RecoveryFixture fixture = RecoveryFixture.prepared()) {
      fixture.publish(5, 3);
      Position real = fixture.position();
      long aheadUsec = real.commitTimeUsec() + Duration.ofDays(3650).toMillis() * 1000;
      fixture.write(new Position(real.commitLsn(), aheadUsec, 0, 0, real.origin()));
      fixture.dropSlot();
      fixture.relay.insertCommitted(2, 2);

      RecoveryReport planned = fixture.plan();

      assertThat(planned.missing()).isEqualTo(4);
      assertThat(planned.rows()).isEqualTo(19);
      assertThat(String.join("\n", planned.lines())).contains("the whole outbox is compared");
    }
  }

  @Test
  void withoutAnyPositionTheWholeOutboxIsCompared() throws Exception {
    RelayFixture relay = RecoveryFixture.unprepared();
    assertThatThrownBy(
            () ->
                relay
                    .bootstrap(
                        step -> {
                          if (step == RelayBootstrap.Step.SLOT) {
                            throw new IllegalStateException("simulated crash");
                          }
                        })
                    .run())
        .hasMessage("simulated crash");
    relay.makeRelayUser();
    try (RecoveryFixture fixture = RecoveryFixture.of(relay);
        Connection old = relay.connect()) {
      relay.insert(old, 5, "now() - interval '10 days'", "o");
      relay.insertCommitted(2, 4);

      RecoveryReport planned = fixture.plan();
      assertThat(planned.missing()).isEqualTo(13);
      assertThat(String.join("\n", planned.lines()))
          .contains("position:      none in Kafka")
          .contains("has no position in Kafka\n")
          .contains("the whole outbox is compared");

      assertThat(fixture.execute().missing()).isEqualTo(13);
      OutboxOracle.Verdict verdict = fixture.verdictAfterStreamingOn();
      assertThat(verdict.rows()).isEqualTo(13 + 9);
      assertThat(verdict.clean()).as("%s", verdict).isTrue();
    }
  }

  @Test
  @EnabledIfSystemProperty(named = "payrelay.long", matches = "true")
  @Timeout(900)
  void manyRowsAreRecoveredInOrder() throws Exception {
    try (RecoveryFixture fixture = RecoveryFixture.of(RelayFixture.shared().prepared())) {
      fixture.publish(3, 3);
      fixture.dropSlot();
      fixture.relay.insertCommitted(1, 200_000);
      fixture.relay.insertCommitted(5_000, 4);

      long startNs = System.nanoTime();
      assertThat(fixture.execute().missing()).isEqualTo(220_000);
      long tookMs = (System.nanoTime() - startNs) / 1_000_000;

      OutboxOracle.Verdict verdict = fixture.verdictAfterStreamingOn();
      assertThat(verdict.clean()).as("%s", verdict).isTrue();
      System.getLogger("measured").log(System.Logger.Level.WARNING, "recover_ms=" + tookMs);
    }
  }

  @Test
  void refusesBesideAnActiveRelayAndWhereNothingIsLost() throws Exception {
    try (RecoveryFixture fixture = RecoveryFixture.prepared()) {
      Relay relay = fixture.relay.startActive();

      assertThatThrownBy(fixture::execute)
          .hasMessageContaining("A relay is active on slot")
          .hasMessageContaining(fixture.relay.config.instanceName());
      assertThat(String.join("\n", fixture.plan().lines()))
          .contains("is active: what is missing may be on its way");

      fixture.relay.insertCommitted(5, 5);
      assertThat(fixture.oracle.await(Duration.ofSeconds(30)).clean()).isTrue();
      assertThat(fixture.relay.meters.get("payrelay.relay.recoveries").counter().count()).isZero();
      relay.close();
      RecoveryReport report = fixture.execute();
      assertThat(report.executed()).isFalse();
      assertThat(String.join("\n", report.lines())).contains("the relay can start");
    }
  }

  @Test
  void refusesWhereKafkaHasDeletedRecordsSinceTheBound() throws Exception {
    try (RecoveryFixture fixture = RecoveryFixture.prepared();
        Connection connection = fixture.relay.connect();
        Admin admin = Admin.create(fixture.relay.kafka().clientProperties("test"))) {
      String aggregate = ofAPartitionThatNobodyElseUses();
      for (int i = 0; i < 3; i++) {
        one(connection, aggregate);
      }
      allowAnyTime(fixture);
      one(connection, aggregate, "'infinity'");
      fixture.publish(3, 3);
      TopicPartition partition = new TopicPartition(Topic.CHARGE_REQUESTS, partition(aggregate));
      admin.deleteRecords(Map.of(partition, RecordsToDelete.beforeOffset(-1))).all().get();
      fixture.dropSlot();
      fixture.relay.insertCommitted(2, 2);
      Instant done = RecoveryFacts.instant(fixture.position().commitTimeUsec());

      RecoveryReport planned = fixture.plan();
      assertThat(planned.refusal())
          .contains("Kafka has deleted records of " + partition)
          .contains("after the bound " + done.minus(Duration.ofHours(24)))
          .contains("whether 3 of the missing rows")
          .contains("The created_at of 1, event ids");
      assertThatThrownBy(fixture::execute).hasMessageContaining("Kafka has deleted records of");
      assertThat(fixture.slotExists()).isFalse();

      RecoveryReport report =
          fixture
              .recovery(step -> {})
              .execute(
                  new RecoveryOptions(
                      RecoveryOptions.LONGEST_TRANSACTION_DEFAULT, null, true, false));
      assertThat(report.missing()).isEqualTo(4 + 3 + 1);
      OutboxOracle.Verdict verdict = fixture.verdictAfterStreamingOn();
      assertThat(verdict.lost()).isZero();
      assertThat(verdict.duplicated()).as("what nobody could decide").isEqualTo(3 + 1);
    }
  }

  @Test
  void rowsWhoseTimeCannotBeTrueAreNeitherLostNorInTheWay() throws Exception {
    List<String> times = List.of("'infinity'", "'-infinity'", "'1970-01-02'", "'2300-01-01'");
    try (RecoveryFixture fixture = RecoveryFixture.prepared();
        Connection connection = fixture.relay.connect()) {
      allowAnyTime(fixture);
      for (String time : times) {
        one(connection, "a1", time);
      }
      fixture.publish(2, 2);
      fixture.dropSlot();
      for (String time : times) {
        one(connection, "a2", time);
      }
      // The upkeep gives them another home instead of stopping at them; the relay's own has begun.
      fixture.relay.execute(
          "UPDATE payrelay.outbox_detached SET detached_at = now() - interval '25 hours'");
      assertThat(fixture.relay.query("SELECT payrelay.rotate_outbox_default(7, 2000)")).isNotNull();
      assertThat(fixture.relay.query("SELECT count(*) FROM payrelay.detached_outbox_rows()"))
          .isEqualTo("8");
      for (String time : times) {
        one(connection, "a3", time);
      }
      assertThat(
              fixture
                  .republisher()
                  .plan(
                      new RepublishSelection(
                          Instant.parse("1969-01-01T00:00:00Z"), Instant.now(), List.of(), 99))
                  .byType())
          .isEqualTo(Map.of("payrelay.charge-requests ChargeRequested", 4L + 3L));

      assertThat(rowsSince(fixture, Instant.parse("1975-01-01T00:00:00Z")))
          .isEqualTo(rowsSince(fixture, null));

      RecoveryReport report = fixture.execute();

      assertThat(report.missing()).isEqualTo(8);
      assertThat(report.rows()).isEqualTo(12 + 4);
      OutboxOracle.Verdict verdict = fixture.verdictAfterStreamingOn();
      assertThat(verdict.lost() + verdict.duplicated()).as("%s", verdict).isZero();
      assertThat(verdict.invented()).as("taken out of the table").isEqualTo(8);
    }
  }

  private static long rowsSince(RecoveryFixture fixture, @Nullable Instant from)
      throws SQLException {
    AtomicLong rows = new AtomicLong();
    try (Connection connection = fixture.relay.connect()) {
      OutboxReader.begin(connection, null);
      new OutboxReader(connection)
          .scan(new OutboxReader.Filter(from, null, List.of()), head -> rows.incrementAndGet());
    }
    return rows.get();
  }

  @Test
  void refusesWhereDaysOfTheOutboxAreGoneSinceTheBound() throws Exception {
    try (RecoveryFixture fixture = RecoveryFixture.prepared()) {
      fixture.publish(3, 3);
      fixture.dropSlot();
      fixture.relay.execute(
          "UPDATE payrelay.schema_history SET installed_on = installed_on - interval '10 days'");

      assertThat(fixture.plan().refusal())
          .contains("Outbox partitions of days before")
          .contains("since the bound");
      assertThatThrownBy(fixture::execute).hasMessageContaining("Outbox partitions of days before");
      fixture
          .recovery(step -> {})
          .execute(new RecoveryOptions(Duration.ZERO, Instant.now(), false, false));
      fixture.relay.startActive();
    }
  }

  @Test
  void daysTakenOutOfTheOutboxAndNotDroppedAreNotGone() throws Exception {
    try (RecoveryFixture fixture = RecoveryFixture.prepared()) {
      fixture.publish(3, 3);
      fixture.relay.execute(
          "SELECT payrelay.create_outbox_partition((now() - interval '10 days')::date)");
      assertThat(fixture.relay.query("SELECT payrelay.detach_outbox_partition(2)"))
          .startsWith("outbox_2");
      fixture.dropSlot();
      fixture.relay.execute(
          "UPDATE payrelay.schema_history SET installed_on = installed_on - interval '10 days'");

      assertThat(fixture.plan().refusal()).isNull();
    }
  }

  private static void crashAt(RecoveryFixture fixture, RelayRecovery.Step at) {
    assertThatThrownBy(
            () ->
                fixture
                    .recovery(
                        step -> {
                          if (step == at) {
                            throw new IllegalStateException("simulated crash");
                          }
                        })
                    .execute(RecoveryOptions.defaults()))
        .hasMessage("simulated crash");
  }

  private static void poison(RecoveryFixture fixture) throws Exception {
    fixture.relay.execute(
        """
        INSERT INTO payrelay.outbox (aggregate_type, aggregate_id, event_type, payload)
        VALUES ('payment', 'poison', 'NobodyKnowsIt', '{}')
        """);
  }

  private static void one(Connection connection, String aggregate) throws Exception {
    one(connection, aggregate, "now()");
  }

  private static void one(Connection connection, String aggregate, String createdAt)
      throws Exception {
    try (Statement statement = connection.createStatement()) {
      statement.execute(
          """
          INSERT INTO payrelay.outbox (aggregate_type, aggregate_id, event_type, payload, created_at)
          SELECT 'payment', '%s', 'ChargeRequested', json_build_object(
            'payment_id', 'p', 'merchant', 'm', 'merchant_order_id', 'o', 'provider', 'x',
            'amount_minor', count(*), 'currency', 'EUR'), %s FROM payrelay.outbox
          """
              .formatted(aggregate, createdAt));
    }
  }

  /** As it was before the table bounded it. */
  private static void allowAnyTime(RecoveryFixture fixture) throws Exception {
    fixture.relay.execute("DROP TRIGGER created_at_range ON payrelay.outbox");
  }

  private static void insertUnchecked(RecoveryFixture fixture, Connection connection) {
    try {
      fixture.relay.insert(connection, 9, "now()", "d");
    } catch (java.sql.SQLException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The topics are shared with other tests: they must not find their own records deleted. */
  private static String ofAPartitionThatNobodyElseUses() {
    Set<Integer> used = new HashSet<>();
    for (String prefix : List.of("a", "b", "d", "l", "o")) {
      IntStream.range(0, 7).forEach(i -> used.add(partition(prefix + i)));
    }
    return IntStream.range(0, 10_000)
        .mapToObj(i -> "trimmed" + i)
        .filter(name -> !used.contains(partition(name)))
        .findFirst()
        .orElseThrow();
  }

  private static int partition(String aggregate) {
    return Utils.toPositive(Utils.murmur2(aggregate.getBytes(UTF_8))) % 12;
  }
}
