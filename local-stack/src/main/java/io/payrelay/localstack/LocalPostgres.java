package io.payrelay.localstack;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A PostgreSQL server of this process, durable and with logical decoding, on the loopback address.
 * It can be stopped, crashed and started again on the same port and data. Thread-safe.
 */
public final class LocalPostgres implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(LocalPostgres.class);
  private static final String DATABASE = "payrelay";
  private static final Duration START_TIMEOUT = Duration.ofSeconds(60);

  private final DataDirectory directory;
  private final PostgresCluster cluster;
  private final Map<String, String> settings;
  private final @Nullable Path deleteIfOrphaned;
  private final @Nullable ExitHook exitHook;
  private int port;
  private @Nullable PostgresProcess process;
  private boolean closed;

  private LocalPostgres(Builder builder) {
    directory = DataDirectory.open(builder.dataDir);
    LocalPostgres primary = builder.primary;
    Map<String, String> wanted = new LinkedHashMap<>();
    deleteIfOrphaned = directory.temporary() ? directory.path() : builder.deleteIfOrphaned;
    boolean started = false;
    try {
      ServerUser user = ServerUser.detect();
      cluster = new PostgresCluster(directory.path(), PostgresBinaries.home(user), user);
      if (primary != null) {
        wanted.putAll(StandbyCopy.make(primary, cluster));
      }
      wanted.putAll(builder.settings);
      settings = Map.copyOf(wanted);
      port = Ports.startOn(builder.port, this::startOn);
      createDatabaseIfMissing();
      started = true;
    } finally {
      if (!started) {
        closeParts();
      }
    }
    exitHook = builder.closeOnExit ? ExitHook.register("local-postgres-exit", this::close) : null;
  }

  /** Begins a new server; without more it takes a free port and a temporary directory. */
  public static Builder builder() {
    return new Builder();
  }

  /** The URL of the database payrelay. */
  public String jdbcUrl() {
    return jdbcUrl(DATABASE);
  }

  /** The URL of another database of this server. */
  public String jdbcUrl(String database) {
    return "jdbc:postgresql://127.0.0.1:" + port() + "/" + database;
  }

  /** The owner of everything, a superuser. */
  public String user() {
    return PostgresCluster.SUPERUSER;
  }

  /** Any password is accepted; this one is for drivers that want one. */
  public String password() {
    return PostgresCluster.SUPERUSER;
  }

  /** The version, such as 17. */
  public int majorVersion() {
    return cluster.majorVersion();
  }

  /** Makes a standby a primary, on a timeline of its own. */
  public void promote() {
    execute("select pg_promote()");
  }

  /** The port, which stays the same over stop and start. */
  public synchronized int port() {
    return port;
  }

  /** The file the server logs to. */
  public Path log() {
    return cluster.log();
  }

  /** Makes a database owned by {@link #user()}. */
  public void createDatabase(String name) {
    execute("create database " + quoted(name));
  }

  /** Starts the server again after {@link #stop()} or {@link #kill()}. */
  public synchronized void start() {
    if (closed) {
      throw new IllegalStateException("closed");
    }
    if (process != null && process.alive()) {
      return;
    }
    startOn(port);
  }

  /** Stops the server in order; sessions are ended. */
  public synchronized void stop() {
    if (process != null) {
      process.stop();
      process = null;
    }
  }

  /** Stops and starts. */
  public synchronized void restart() {
    stop();
    start();
  }

  /** Crashes the server: kill -9 for all of its processes. */
  public synchronized void kill() {
    if (process != null) {
      process.kill();
      process = null;
    }
  }

  @Override
  public synchronized void close() {
    if (closed) {
      return;
    }
    closed = true;
    if (exitHook != null) {
      exitHook.cancel();
    }
    closeParts();
  }

  private void closeParts() {
    try {
      stop();
    } finally {
      directory.close();
    }
  }

  private synchronized int startOn(int wantedPort) {
    Ports.requireFree("PostgreSQL", wantedPort);
    long startedAt = System.nanoTime();
    try {
      cluster.prepare(settings);
      process = PostgresProcess.start(cluster, wantedPort, deleteIfOrphaned, START_TIMEOUT);
    } catch (IOException e) {
      throw new LocalStackException(
          "PostgreSQL cannot be started in " + directory.path() + ": " + e.getMessage(), e);
    }
    long tookMs = Duration.ofNanos(System.nanoTime() - startedAt).toMillis();
    LOG.info("postgres_started port={} took_ms={} dir={}", wantedPort, tookMs, directory.path());
    return wantedPort;
  }

  private void createDatabaseIfMissing() {
    try (Connection connection = connect();
        Statement statement = connection.createStatement();
        ResultSet found =
            statement.executeQuery(
                "select 1 from pg_database where datname = '" + DATABASE + "'")) {
      if (found.next()) {
        return;
      }
    } catch (SQLException e) {
      throw new LocalStackException("PostgreSQL refuses SQL: " + e.getMessage(), e);
    }
    createDatabase(DATABASE);
  }

  Path data() {
    return cluster.data();
  }

  private void execute(String sql) {
    try (Connection connection = connect();
        Statement statement = connection.createStatement()) {
      statement.execute(sql);
    } catch (SQLException e) {
      throw new LocalStackException("PostgreSQL refuses \"" + sql + "\": " + e.getMessage(), e);
    }
  }

  Connection connect() throws SQLException {
    return DriverManager.getConnection(jdbcUrl("postgres"), user(), password());
  }

  static String quoted(String name) {
    return "\"" + name.replace("\"", "\"\"") + "\"";
  }

  /** What a server shall be like. Not thread-safe. */
  public static final class Builder {
    private final Map<String, String> settings = new LinkedHashMap<>();
    private @Nullable Path dataDir;
    private @Nullable Path deleteIfOrphaned;
    private @Nullable LocalPostgres primary;
    private int port;
    private boolean closeOnExit = true;

    private Builder() {}

    /** Keeps the data here between runs. */
    public Builder dataDir(Path dir) {
      this.dataDir = dir;
      return this;
    }

    /** The port to listen on; 0 is a free one. */
    public Builder port(int number) {
      this.port = number;
      return this;
    }

    /** One more server setting; it wins over the ones of the stack. */
    public Builder setting(String name, String value) {
      settings.put(name, value);
      return this;
    }

    /** Makes it a streaming standby of a running server, with a physical slot of that. */
    public Builder standbyOf(LocalPostgres server) {
      this.primary = server;
      return this;
    }

    /** False: the caller closes it in an order of its own when the JVM exits. */
    public Builder closeOnExit(boolean enabled) {
      this.closeOnExit = enabled;
      return this;
    }

    Builder deleteIfOrphaned(@Nullable Path dir) {
      this.deleteIfOrphaned = dir;
      return this;
    }

    /** Starts the server and returns when it takes connections. */
    public LocalPostgres start() {
      return new LocalPostgres(this);
    }
  }
}
