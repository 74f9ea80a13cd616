package io.payrelay.relay;

import io.payrelay.platform.config.Secret;
import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.schemas.EventCatalogue;
import java.sql.SQLException;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.KafkaProducer;

/** Losing slots, and recovering them as the relay's user. */
final class RecoveryFixture implements AutoCloseable {

  final RelayFixture relay;
  final OutboxOracle oracle;
  final List<String> progress = Collections.synchronizedList(new ArrayList<>());

  private RecoveryFixture(RelayFixture relay) {
    this.relay = relay;
    this.oracle = relay.oracle();
  }

  /** Prepared, with small Kafka transactions and a short lease. */
  static RecoveryFixture prepared() throws SQLException {
    return new RecoveryFixture(unprepared().prepared());
  }

  static RecoveryFixture of(RelayFixture relay) {
    return new RecoveryFixture(relay);
  }

  static RelayFixture unprepared() {
    return RelayFixture.shared(
        Map.of(
            "PAYRELAY_RELAY_LEASE_MS", "1000",
            "PAYRELAY_RELAY_LEASE_RENEW_MS", "200",
            "PAYRELAY_RELAY_BATCH_SIZE_MAX", "50"));
  }

  RelayRecovery recovery(Consumer<RelayRecovery.Step> finished) {
    return new RelayRecovery(
        relay.config,
        database(),
        relay.kafka(),
        EventCatalogue.builtIn(),
        Clock.systemUTC(),
        progress::add,
        finished);
  }

  Republisher republisher() {
    return new Republisher(
        relay.config,
        database(),
        relay.kafka(),
        EventCatalogue.builtIn(),
        Clock.systemUTC(),
        progress::add);
  }

  RecoveryReport plan() {
    return recovery(step -> {}).plan(RecoveryOptions.defaults());
  }

  RecoveryReport execute() {
    return recovery(step -> {}).execute(RecoveryOptions.defaults());
  }

  /** Rows that the relay has published; it is closed again. */
  void publish(int transactions, int rowsEach) throws SQLException {
    relay.insertCommitted(transactions, rowsEach);
    Relay running = relay.startActive();
    oracle.await(Duration.ofSeconds(30));
    running.close();
  }

  void dropSlot() throws SQLException {
    relay.execute("SELECT pg_drop_replication_slot('%s')".formatted(relay.config.slotName()));
  }

  boolean slotExists() throws SQLException {
    return relay.query(
            "SELECT 1 FROM pg_replication_slots WHERE slot_name = '%s'"
                .formatted(relay.config.slotName()))
        != null;
  }

  PositionStore store() {
    return new PositionStore(relay.kafka(), relay.config.slotName());
  }

  Position position() {
    try (Admin admin = Admin.create(relay.kafka().clientProperties("test"))) {
      return store().readStored(admin, Duration.ofSeconds(20)).position();
    }
  }

  void write(Position position) {
    try (KafkaProducer<byte[], byte[]> producer =
        RelayProducer.make(relay.kafka(), relay.config, 1_000_000)) {
      producer.initTransactions();
      producer.beginTransaction();
      var unused = producer.send(store().record(position));
      producer.commitTransaction();
    }
  }

  /** The relay streams on, and each row of the table came once. */
  OutboxOracle.Verdict verdictAfterStreamingOn() throws SQLException {
    relay.startActive();
    relay.insertCommitted(3, 3);
    return oracle.await(Duration.ofSeconds(30));
  }

  private DatabaseConfig database() {
    return new DatabaseConfig(
        relay.jdbcUrl, relay.relayUser, new Secret("any"), 2, Duration.ofSeconds(5));
  }

  @Override
  public void close() throws SQLException {
    try (oracle) {
      relay.close();
    }
  }
}
