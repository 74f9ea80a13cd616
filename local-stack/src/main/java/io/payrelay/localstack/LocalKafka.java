package io.payrelay.localstack;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import kafka.server.KafkaConfig;
import kafka.server.KafkaRaftServer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.utils.Exit;
import org.apache.kafka.common.utils.Time;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A Kafka broker with its controller inside this JVM, on the loopback address. It can be stopped
 * and started again on the same port and data. Thread-safe.
 */
public final class LocalKafka implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(LocalKafka.class);

  private final DataDirectory directory;
  private final Map<String, String> properties;
  private final @Nullable ExitHook exitHook;
  private int port;
  private @Nullable KafkaRaftServer server;
  private boolean closed;

  private LocalKafka(Builder builder) {
    directory = DataDirectory.open(builder.dataDir);
    properties = Map.copyOf(builder.properties);
    keepJvmAlive();
    boolean started = false;
    try {
      port = Ports.startOn(builder.port, this::startOn);
      started = true;
    } finally {
      if (!started) {
        directory.close();
      }
    }
    exitHook = builder.closeOnExit ? ExitHook.register("local-kafka-exit", this::close) : null;
  }

  /** Begins a new broker; without more it takes a free port and a temporary directory. */
  public static Builder builder() {
    return new Builder();
  }

  /** What clients connect to. */
  public String bootstrapServers() {
    return "127.0.0.1:" + port();
  }

  /** The port, which stays the same over stop and start. */
  public synchronized int port() {
    return port;
  }

  /** The cluster's id, which stays with the data. */
  public String clusterId() {
    try (InputStream in = Files.newInputStream(metaProperties())) {
      Properties meta = new Properties();
      meta.load(in);
      return meta.getProperty("cluster.id");
    } catch (IOException e) {
      throw new LocalStackException("The Kafka data has no cluster id: " + metaProperties(), e);
    }
  }

  /** Starts the broker again after {@link #stop()}. */
  public synchronized void start() {
    if (closed) {
      throw new IllegalStateException("closed");
    }
    if (server == null) {
      startOn(port);
    }
  }

  /** Stops the broker; its records stay. */
  public synchronized void stop() {
    if (server != null) {
      server.shutdown();
      server.awaitShutdown();
      server = null;
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
    try {
      stop();
    } finally {
      directory.close();
    }
  }

  private synchronized int startOn(int wantedPort) {
    Ports.requireFree("Kafka", wantedPort);
    long startedAt = System.nanoTime();
    Map<String, String> settings = KafkaSettings.of(data(), wantedPort, Ports.free(), properties);
    KafkaRaftServer starting = null;
    boolean started = false;
    try {
      if (!Files.exists(metaProperties())) {
        KafkaSettings.format(data(), Uuid.randomUuid().toString());
      }
      starting = new KafkaRaftServer(new KafkaConfig(settings, false), Time.SYSTEM);
      starting.startup();
      started = true;
    } catch (KafkaException | IOException e) {
      throw startFailure(wantedPort, e);
    } finally {
      if (!started && starting != null) {
        starting.shutdown();
      }
    }
    server = starting;
    long tookMs = Duration.ofNanos(System.nanoTime() - startedAt).toMillis();
    LOG.info("kafka_started port={} took_ms={} dir={}", wantedPort, tookMs, directory.path());
    return wantedPort;
  }

  private LocalStackException startFailure(int wantedPort, Exception cause) {
    for (Throwable t = cause; t != null; t = t.getCause()) {
      if (t instanceof java.net.BindException) {
        LocalStackException refusal = LocalStackException.portInUse("Kafka", wantedPort);
        refusal.initCause(cause);
        return refusal;
      }
    }
    return new LocalStackException(
        "Kafka cannot be started in " + directory.path() + ": " + cause.getMessage(), cause);
  }

  private Path data() {
    return directory.path().resolve("data");
  }

  private Path metaProperties() {
    return data().resolve("meta.properties");
  }

  /** A fatal fault of the broker ends its own thread, not the process that embeds it. */
  private static void keepJvmAlive() {
    Exit.Procedure refuse =
        (status, message) -> {
          LOG.error("kafka_fatal_fault status={} message={}", status, message);
          throw new LocalStackException(
              "Kafka's broker failed with status " + status + ": " + message);
        };
    Exit.setExitProcedure(refuse);
    Exit.setHaltProcedure(refuse);
  }

  /** What a broker shall be like. Not thread-safe. */
  public static final class Builder {
    private final Map<String, String> properties = new LinkedHashMap<>();
    private @Nullable Path dataDir;
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

    /** One more broker property; it wins over the ones of the stack. */
    public Builder property(String name, String value) {
      properties.put(name, value);
      return this;
    }

    /** False: the caller closes it in an order of its own when the JVM exits. */
    public Builder closeOnExit(boolean enabled) {
      this.closeOnExit = enabled;
      return this;
    }

    /** Starts the broker and returns when it takes requests. */
    public LocalKafka start() {
      return new LocalKafka(this);
    }
  }
}
