package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.payrelay.localstack.TestDatabase;
import io.payrelay.localstack.TestInfra;
import io.payrelay.platform.config.Secret;
import io.payrelay.platform.config.Settings;
import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.schemas.EventCatalogue;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.errors.TimeoutException;
import org.postgresql.ds.PGSimpleDataSource;

/** A database, a slot of its own, and relays that run as a user with the least rights. */
final class RelayFixture implements AutoCloseable {

  private static final AtomicLong NUMBER = new AtomicLong();

  final String jdbcUrl;
  final String owner;
  final String bootstrapServers;
  final RelayConfig config;
  final String relayUser;
  final SimpleMeterRegistry meters = new SimpleMeterRegistry();
  private final List<Relay> relays = new ArrayList<>();
  private final AtomicLong sequence = new AtomicLong();

  RelayFixture(
      String jdbcUrl, String owner, String bootstrapServers, Map<String, String> settings) {
    this.jdbcUrl = jdbcUrl;
    this.owner = owner;
    this.bootstrapServers = bootstrapServers;
    String suffix = System.nanoTime() + "_" + NUMBER.incrementAndGet();
    this.relayUser = "relay_" + suffix;
    Map<String, String> environment = new HashMap<>();
    environment.put("PAYRELAY_RELAY_SLOT_NAME", "slot_" + suffix);
    environment.put("PAYRELAY_RELAY_HEARTBEAT_INTERVAL_MS", "300");
    environment.put("PAYRELAY_RELAY_BACKOFF_FIRST_MS", "50");
    environment.put("PAYRELAY_RELAY_BACKOFF_MAX_MS", "500");
    environment.putAll(settings);
    this.config =
        RelayConfig.from(Settings.check(environment, RelayConfig.SETTINGS, RelayConfig.SETTINGS));
  }

  /** On the JVM's shared servers. */
  static RelayFixture shared() {
    return shared(Map.of());
  }

  static RelayFixture shared(Map<String, String> settings) {
    TestInfra infra = TestInfra.shared();
    TestDatabase database = infra.newDatabase();
    return new RelayFixture(
        database.jdbcUrl(), database.user(), infra.bootstrapServers(), settings);
  }

  /** It can be run again, and on a busy machine a fresh broker may need longer than its timeout. */
  RelayFixture prepared() throws SQLException {
    await()
        .atMost(Duration.ofSeconds(90))
        .ignoreException(TimeoutException.class)
        .until(
            () -> {
              bootstrap(step -> {}).run();
              return true;
            });
    makeRelayUser();
    return this;
  }

  void makeRelayUser() throws SQLException {
    execute("CREATE ROLE %s LOGIN REPLICATION PASSWORD 'any'".formatted(relayUser));
    execute("GRANT payrelay_relay TO " + relayUser);
  }

  RelayBootstrap bootstrap(Consumer<RelayBootstrap.Step> finished) {
    PGSimpleDataSource source = new PGSimpleDataSource();
    source.setUrl(jdbcUrl);
    source.setUser(owner);
    source.setPassword("any");
    return new RelayBootstrap(source, kafka(), config, EventCatalogue.builtIn(), finished);
  }

  KafkaConfig kafka() {
    return new KafkaConfig(bootstrapServers, Map.of());
  }

  DatabaseConfig database(String user) {
    return new DatabaseConfig(jdbcUrl, user, new Secret("any"), 2, Duration.ofSeconds(5));
  }

  Relay start() {
    return start(RelayFaults.NONE);
  }

  Relay start(RelayFaults faults) {
    return start(relayUser, faults, jdbcUrl);
  }

  Relay start(String user, RelayFaults faults) {
    return start(user, faults, jdbcUrl);
  }

  Relay start(RelayFaults faults, String relayJdbcUrl) {
    return start(relayUser, faults, relayJdbcUrl);
  }

  private Relay start(String user, RelayFaults faults, String relayJdbcUrl) {
    Relay relay =
        new Relay(
            config,
            new DatabaseConfig(relayJdbcUrl, user, new Secret("any"), 2, Duration.ofSeconds(5)),
            kafka(),
            EventCatalogue.builtIn(),
            meters,
            Clock.systemUTC(),
            new Random(7),
            faults);
    adopt(relay);
    relay.start();
    return relay;
  }

  /** Closes it with the fixture, before its slot is dropped. */
  void adopt(Relay relay) {
    relays.add(relay);
  }

  /** As an operator with the least rights sees them. */
  DeadLetters deadLetters() throws SQLException {
    return deadLetters(EventCatalogue.builtIn());
  }

  DeadLetters deadLetters(EventCatalogue catalogue) throws SQLException {
    String operator = relayUser.replace("relay_", "operator_");
    if (query("SELECT 1 FROM pg_roles WHERE rolname = '%s'".formatted(operator)) == null) {
      execute("CREATE ROLE %s LOGIN PASSWORD 'any' IN ROLE payrelay_operator".formatted(operator));
    }
    return DeadLetters.open(
        new DatabaseConfig(jdbcUrl, operator, new Secret("any"), 2, Duration.ofSeconds(5)),
        kafka(),
        catalogue,
        config.framing(),
        Clock.systemUTC());
  }

  Relay startActive() {
    Relay relay = start();
    awaitState(relay, RelayState.ACTIVE);
    return relay;
  }

  static void awaitState(Relay relay, RelayState state) {
    await().atMost(Duration.ofSeconds(30)).until(() -> relay.state() == state);
  }

  /** Rows that the meters of this fixture's relays have counted, of all types. */
  double rowsRelayed() {
    return meters.get("payrelay.relay.rows").counters().stream().mapToDouble(Counter::count).sum();
  }

  static boolean oneIsActiveAndOneStandsBy(Relay one, Relay other) {
    return EnumSet.of(one.state(), other.state())
        .equals(Set.of(RelayState.ACTIVE, RelayState.STANDBY));
  }

  OutboxOracle oracle() {
    return new OutboxOracle(jdbcUrl, owner, bootstrapServers);
  }

  /** The sentence with which a relay stops. */
  static String refusal(Relay relay) {
    await().atMost(Duration.ofSeconds(30)).until(() -> relay.ended().isDone());
    assertThat(relay.ended()).isCompletedExceptionally();
    return relay.ended().handle((done, error) -> error.getMessage()).join();
  }

  Connection connect() throws SQLException {
    return DriverManager.getConnection(jdbcUrl, owner, "any");
  }

  void execute(String sql) throws SQLException {
    try (Connection connection = connect();
        Statement statement = connection.createStatement()) {
      statement.execute(sql);
    }
  }

  String query(String sql) throws SQLException {
    try (Connection connection = connect();
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery(sql)) {
      return rows.next() ? rows.getString(1) : null;
    }
  }

  /** Rows of several aggregates in the caller's transaction, numbered upwards. */
  void insert(Connection connection, int rows) throws SQLException {
    insert(connection, rows, "now()", "a");
  }

  void insert(Connection connection, int rows, String createdAt, String aggregate)
      throws SQLException {
    long from = sequence.getAndAdd(rows);
    try (Statement statement = connection.createStatement()) {
      statement.execute(
          """
          INSERT INTO payrelay.outbox (aggregate_type, aggregate_id, event_type, payload, created_at)
          SELECT 'payment', '%s' || n %% 7, 'ChargeRequested', json_build_object(
            'payment_id', 'p', 'merchant', 'm', 'merchant_order_id', 'o', 'provider', 'x',
            'amount_minor', n, 'currency', 'EUR'), %s
          FROM generate_series(%d, %d) n ORDER BY n
          """
              .formatted(aggregate, createdAt, from, from + rows - 1));
    }
  }

  void insertCommitted(int transactions, int rowsEach) throws SQLException {
    try (Connection connection = connect()) {
      for (int i = 0; i < transactions; i++) {
        insert(connection, rowsEach);
      }
    }
  }

  /** Numbers for rows that a test writes itself. */
  long number() {
    return sequence.getAndIncrement();
  }

  /** The position that Kafka holds. */
  Position position() {
    try (Admin admin = Admin.create(kafka().clientProperties("test"))) {
      return new PositionStore(kafka(), config.slotName()).read(admin, Duration.ofSeconds(20));
    }
  }

  int serverMajorVersion() throws SQLException {
    return Integer.parseInt(query("SHOW server_version_num")) / 10_000;
  }

  String slotPid() throws SQLException {
    return query(
        "SELECT active_pid FROM pg_replication_slots WHERE slot_name = '%s'"
            .formatted(config.slotName()));
  }

  @Override
  public void close() throws SQLException {
    relays.forEach(Relay::close);
    execute(
        "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = '%s'"
            .formatted(config.slotName()));
  }
}
