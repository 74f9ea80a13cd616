package io.payrelay.workbench.bench;

import io.payrelay.app.Parts;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.kafka.KafkaConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * PostgreSQL and Kafka for a benchmark, in a process of their own, and a scratch folder; both are
 * gone afterwards. Safe for any thread.
 */
final class BenchServers implements AutoCloseable {

  private static final Duration READY_LIMIT = Duration.ofSeconds(90);
  private static final List<String> JAVA_OPTIONS = List.of("-Xmx1g", "-XX:+UseG1GC");

  /**
   * As a machine that does nothing else is set up: by default a checkpoint comes with each GB of
   * WAL, and after it each page that changes is written whole once more.
   */
  private static final Map<String, String> DATABASE_SETTINGS =
      Map.of("max_wal_size", "8GB", "checkpoint_timeout", "15min");

  private static final String RELAY_USER = "bench_relay";

  private final Path folder;
  private final BenchProcess infra;
  private final String jdbcUrl;
  private final String owner;
  private final String bootstrapServers;

  private BenchServers(Path folder, BenchProcess infra, String ready) {
    this.folder = folder;
    this.infra = infra;
    this.jdbcUrl = value(ready, "jdbc");
    this.owner = value(ready, "user");
    this.bootstrapServers = value(ready, "kafka");
  }

  static BenchServers start() {
    Path folder;
    try {
      folder = Files.createTempDirectory("payrelay-bench");
    } catch (IOException e) {
      throw new PayrelayException(Category.FATAL, "No temporary folder can be made", e);
    }
    BenchProcess infra = BenchProcess.ours(folder, JAVA_OPTIONS, Map.of(), "infra");
    try {
      BenchServers servers =
          new BenchServers(folder, infra, infra.awaitLine("ready ", READY_LIMIT));
      DATABASE_SETTINGS.forEach(
          (name, value) -> servers.execute("ALTER SYSTEM SET %s = '%s'".formatted(name, value)));
      servers.execute("SELECT pg_reload_conf()");
      return servers;
    } catch (RuntimeException e) {
      infra.close();
      delete(folder);
      throw e;
    }
  }

  Path folder() {
    return folder;
  }

  String jdbcUrl() {
    return jdbcUrl;
  }

  String owner() {
    return owner;
  }

  String bootstrapServers() {
    return bootstrapServers;
  }

  KafkaConfig kafka() {
    return new KafkaConfig(bootstrapServers, Map.of());
  }

  Connection connect() {
    return connect(owner);
  }

  Connection connect(String user) {
    try {
      return DriverManager.getConnection(jdbcUrl, user, "any");
    } catch (SQLException e) {
      throw new PayrelayException(Category.FATAL, "PostgreSQL of the benchmark is away", e);
    }
  }

  void execute(String sql) {
    try (Connection connection = connect();
        Statement statement = connection.createStatement()) {
      statement.execute(sql);
    } catch (SQLException e) {
      throw new PayrelayException(Category.FATAL, "PostgreSQL refuses: " + sql, e);
    }
  }

  /** Tables, slot, topics, and a login for the relay with no more rights than it needs. */
  void migrate() {
    Parts.migrate(environment(owner));
    execute(
        "CREATE ROLE %s LOGIN REPLICATION PASSWORD 'any' IN ROLE payrelay_relay"
            .formatted(RELAY_USER));
  }

  /** A login with the rights of that group role, and what a part needs that uses it. */
  Map<String, String> login(String user, String role) {
    execute("CREATE ROLE %s LOGIN PASSWORD 'any' IN ROLE %s".formatted(user, role));
    return environment(user);
  }

  Map<String, String> relayEnvironment() {
    return environment(RELAY_USER);
  }

  /** Where everything is, for a process under that login. */
  Map<String, String> environment(String user) {
    Map<String, String> environment = new HashMap<>();
    environment.put("PAYRELAY_DATABASE_URL", jdbcUrl);
    environment.put("PAYRELAY_DATABASE_USER", user);
    environment.put("PAYRELAY_DATABASE_PASSWORD", "any");
    environment.put("PAYRELAY_KAFKA_BOOTSTRAP_SERVERS", bootstrapServers);
    return environment;
  }

  /** CPU time of Kafka's process so far. */
  Duration kafkaCpu() {
    return infra.cpu();
  }

  /** CPU time of all of PostgreSQL's processes so far. */
  Duration postgresCpu() {
    return infra.cpuOfDescendants();
  }

  @Override
  public void close() {
    infra.close();
    delete(folder);
  }

  private static void delete(Path folder) {
    try (Stream<Path> files = Files.walk(folder)) {
      for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.deleteIfExists(file);
      }
    } catch (IOException e) {
      throw new PayrelayException(Category.FATAL, folder + " cannot be removed", e);
    }
  }

  private static String value(String ready, String name) {
    for (String word : ready.split(" ", -1)) {
      if (word.startsWith(name + "=")) {
        return word.substring(name.length() + 1);
      }
    }
    throw new IllegalStateException("no " + name + " in: " + ready);
  }
}
