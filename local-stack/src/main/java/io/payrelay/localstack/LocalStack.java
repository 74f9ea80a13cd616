package io.payrelay.localstack;

import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** PostgreSQL and Kafka of this process, started together. Thread-safe. */
public final class LocalStack implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(LocalStack.class);

  private final DataDirectory directory;
  private final LocalPostgres postgres;
  private final LocalKafka kafka;
  private final @Nullable ExitHook exitHook;
  private boolean closed;

  private LocalStack(Builder builder) {
    long startedAt = System.nanoTime();
    directory = DataDirectory.open(builder.dataDir);
    CompletableFuture<LocalPostgres> startingPostgres =
        inBackground(() -> startPostgres(builder, directory));
    CompletableFuture<LocalKafka> startingKafka =
        inBackground(() -> startKafka(builder, directory));
    try {
      CompletableFuture.allOf(startingPostgres, startingKafka).join();
      postgres = startingPostgres.join();
      kafka = startingKafka.join();
    } catch (CompletionException e) {
      closeIfStarted(startingKafka);
      closeIfStarted(startingPostgres);
      directory.close();
      throw e.getCause() instanceof LocalStackException cause ? cause : e;
    }
    long tookMs = Duration.ofNanos(System.nanoTime() - startedAt).toMillis();
    LOG.info("local_stack_started took_ms={} dir={}", tookMs, directory.path());
    exitHook = builder.closeOnExit ? ExitHook.register("local-stack-exit", this::close) : null;
  }

  /** Begins a new stack; without more it takes free ports and a temporary directory. */
  public static Builder builder() {
    return new Builder();
  }

  public LocalPostgres postgres() {
    return postgres;
  }

  public LocalKafka kafka() {
    return kafka;
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
      kafka.close();
    } finally {
      closePostgresAndDirectory();
    }
  }

  private void closePostgresAndDirectory() {
    try {
      postgres.close();
    } finally {
      directory.close();
    }
  }

  private static LocalPostgres startPostgres(Builder builder, DataDirectory directory) {
    return LocalPostgres.builder()
        .dataDir(directory.path().resolve("postgres"))
        .port(builder.postgresPort)
        .closeOnExit(false)
        .deleteIfOrphaned(directory.temporary() ? directory.path() : null)
        .start();
  }

  private static LocalKafka startKafka(Builder builder, DataDirectory directory) {
    return LocalKafka.builder()
        .dataDir(directory.path().resolve("kafka"))
        .port(builder.kafkaPort)
        .closeOnExit(false)
        .start();
  }

  private static <T> CompletableFuture<T> inBackground(Supplier<T> start) {
    return CompletableFuture.supplyAsync(
        start, task -> new Thread(task, "local-stack-start").start());
  }

  private static void closeIfStarted(CompletableFuture<? extends AutoCloseable> starting) {
    starting
        .handle(
            (started, failure) -> {
              if (started instanceof LocalPostgres startedPostgres) {
                startedPostgres.close();
              }
              if (started instanceof LocalKafka startedKafka) {
                startedKafka.close();
              }
              return failure == null;
            })
        .join();
  }

  /** What a stack shall be like. Not thread-safe. */
  public static final class Builder {
    private @Nullable Path dataDir;
    private int postgresPort;
    private int kafkaPort;
    private boolean closeOnExit = true;

    private Builder() {}

    /** Keeps the data of both here between runs. */
    public Builder dataDir(Path dir) {
      this.dataDir = dir;
      return this;
    }

    /** The port of PostgreSQL; 0 is a free one. */
    public Builder postgresPort(int number) {
      this.postgresPort = number;
      return this;
    }

    /** The port of Kafka; 0 is a free one. */
    public Builder kafkaPort(int number) {
      this.kafkaPort = number;
      return this;
    }

    /** False: the caller closes it in an order of its own when the JVM exits. */
    public Builder closeOnExit(boolean enabled) {
      this.closeOnExit = enabled;
      return this;
    }

    /** Starts both at once and returns when both are ready. */
    public LocalStack start() {
      return new LocalStack(this);
    }
  }
}
