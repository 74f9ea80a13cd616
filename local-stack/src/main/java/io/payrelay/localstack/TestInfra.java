package io.payrelay.localstack;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * PostgreSQL and Kafka for the tests of one JVM: embedded, in containers or external, by
 * -Dpayrelay.infra. Each server is started when it is first asked for and stopped at the exit of
 * the JVM. Thread-safe.
 */
public final class TestInfra implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(TestInfra.class);

  private final TestServers servers;
  private final List<String> databases = new ArrayList<>();
  private TestServers.@Nullable Postgres postgres;
  private @Nullable String bootstrapServers;

  private TestInfra(TestServers servers) {
    this.servers = servers;
  }

  /** The one of this JVM. */
  public static TestInfra shared() {
    return Shared.INSTANCE;
  }

  static TestInfra of(InfraMode mode, Map<String, String> environment) {
    return new TestInfra(TestServers.of(mode, environment));
  }

  /** A new, empty database; starts PostgreSQL, but not Kafka. */
  public synchronized TestDatabase newDatabase() {
    String name = "test_" + UUID.randomUUID().toString().replace("-", "").substring(0, 16);
    execute("create database " + name);
    databases.add(name);
    return new TestDatabase(name, jdbcUrl(name), server().user(), server().password());
  }

  /** The URL of a database of the server of the tests. */
  public synchronized String jdbcUrl(String database) {
    return withDatabase(server().jdbcUrl(), database);
  }

  /** What Kafka clients connect to; starts Kafka, but not PostgreSQL. */
  public synchronized String bootstrapServers() {
    if (bootstrapServers == null) {
      bootstrapServers = servers.kafka();
    }
    return bootstrapServers;
  }

  /** Drops the databases made here and stops what was started. */
  @Override
  public synchronized void close() {
    if (servers instanceof ExternalServers) {
      databases.forEach(this::drop);
    }
    databases.clear();
    servers.close();
  }

  /** The URL with another database name, its parameters kept. */
  static String withDatabase(String jdbcUrl, String database) {
    int query = jdbcUrl.indexOf('?');
    String base = query < 0 ? jdbcUrl : jdbcUrl.substring(0, query);
    String parameters = query < 0 ? "" : jdbcUrl.substring(query);
    int slash = base.lastIndexOf('/');
    if (slash < 0 || base.charAt(slash - 1) == '/') {
      throw new LocalStackException(
          "The database URL must look like jdbc:postgresql://host:port/database.");
    }
    return base.substring(0, slash + 1) + database + parameters;
  }

  private TestServers.Postgres server() {
    if (postgres == null) {
      postgres = servers.postgres();
    }
    return postgres;
  }

  private void drop(String database) {
    try {
      execute("drop database if exists " + database + " with (force)");
    } catch (LocalStackException e) {
      // A replication slot holds it, say; the next databases can still go.
      LOG.warn("test_database_left name={} reason=\"{}\"", database, e.getMessage());
    }
  }

  private void execute(String sql) {
    TestServers.Postgres server = server();
    try (Connection connection =
            DriverManager.getConnection(server.jdbcUrl(), server.user(), server.password());
        Statement statement = connection.createStatement()) {
      statement.execute(sql);
    } catch (SQLException e) {
      throw new LocalStackException(
          "The tests' PostgreSQL refuses \"" + sql + "\": " + e.getMessage(), e);
    }
  }

  private static final class Shared {
    static final TestInfra INSTANCE = start();

    private static TestInfra start() {
      InfraMode mode = InfraMode.parse(System.getProperty("payrelay.infra", "auto"));
      TestInfra infra = of(mode, System.getenv());
      Runtime.getRuntime().addShutdownHook(new Thread(infra::close, "test-infra-exit"));
      return infra;
    }
  }
}
