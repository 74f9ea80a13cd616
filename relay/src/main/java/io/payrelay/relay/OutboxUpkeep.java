package io.payrelay.relay;

import io.micrometer.core.instrument.MeterRegistry;
import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.errors.Failures;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.platform.lifecycle.Backoff;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Looks after the outbox's daily partitions: gives a filled DEFAULT another home, makes days ahead,
 * notes new dead letters, and takes out and drops what is old. On a thread of its own, because it
 * may wait for locks; a step that fails is an alarm and not a stop, since rows then go to the
 * DEFAULT partition, and it keeps no other step from being tried. {@link #tick} is for one thread.
 */
final class OutboxUpkeep implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(OutboxUpkeep.class);

  private static final Duration ANSWER_LIMIT = Duration.ofSeconds(60);
  private static final Duration RETRY_FIRST = Duration.ofSeconds(2);
  private static final Duration RETRY_MAX = Duration.ofMinutes(2);

  /** Days that one round takes out, so that a long backlog is not one long stall. */
  private static final int DETACHED_IN_ROUND_MAX = 4;

  private static final String LOCK_TIMEOUT = "55P03";

  private final DatabaseConfig database;
  private final UpkeepConfig config;
  private final DeadLetterLog deadLetters;
  private final UpkeepMetrics metrics;
  private final Backoff backoff;
  private final ExecutorService executor =
      Executors.newSingleThreadExecutor(task -> new Thread(task, "payrelay-outbox-upkeep"));
  private volatile long nextNs = System.nanoTime();
  private volatile boolean running;
  private int failures;
  private String said = "";

  OutboxUpkeep(
      DatabaseConfig database,
      KafkaConfig kafka,
      RelayConfig config,
      MeterRegistry registry,
      RandomGenerator random) {
    this.database = database;
    this.config = config.upkeep();
    this.deadLetters = new DeadLetterLog(kafka);
    this.metrics = new UpkeepMetrics(registry, config.slotName());
    this.backoff = new Backoff(RETRY_FIRST, RETRY_MAX, random);
  }

  /** Starts a round where one is due. The relay is active while it calls this. */
  void tick() {
    metrics.begin();
    if (!running && System.nanoTime() - nextNs >= 0) {
      running = true;
      executor.execute(this::round);
    }
  }

  /** Another relay does it now: what this one knew would only grow old. */
  void forget() {
    metrics.forget();
  }

  private void round() {
    try {
      boolean ok = tryRound();
      failures = ok ? 0 : failures + 1;
      nextNs = System.nanoTime() + (ok ? config.interval() : retryDelay()).toNanos();
    } finally {
      running = false;
    }
  }

  private Duration retryDelay() {
    Duration delay = backoff.delay(failures);
    return delay.compareTo(config.interval()) < 0 ? delay : config.interval();
  }

  private boolean tryRound() {
    try (Connection connection =
        DatabaseConnection.open(database, "payrelay-outbox-upkeep", ANSWER_LIMIT)) {
      Round round = new Round(new OutboxPartitions(connection, config), connection);
      round.run();
      metrics.round(round.state, round.dropped, round.failure == null);
      tell(round);
      return round.failure == null;
    } catch (SQLException | RuntimeException e) {
      metrics.round(null, 0, false);
      say("outbox upkeep failed: the database does not answer; trying again", e);
      return false;
    }
  }

  /** A failure is said once with its cause; while it lasts, the repeats are not worth a line. */
  private void say(String sentence, Exception cause) {
    if (sentence.equals(said)) {
      log.debug(sentence, cause);
    } else if (LOCK_TIMEOUT.equals(Failures.sqlState(cause))) {
      log.warn("{} ({})", sentence, cause.getMessage());
    } else {
      log.warn(sentence, cause);
    }
    said = sentence;
  }

  private void tell(Round round) {
    if (round.failure != null) {
      say("outbox upkeep failed at: " + round.failedStep + "; trying again", round.failure);
    } else {
      said = "";
    }
    OutboxPartitions.State state = round.state;
    if (state == null) {
      return;
    }
    if (state.daysAhead() < 1) {
      log.error(
          "outbox has partitions for {} days ahead: rows go to DEFAULT, and nothing drops them by day",
          state.daysAhead());
    }
    if (state.defaultRows() > 0) {
      log.warn("outbox has {} rows in its DEFAULT partition", state.defaultRows());
    }
    if (state.held() > 0) {
      log.warn(
          "{} outbox partitions are kept past their retention for unresolved dead letters: `payrelay dead-letters list --unresolved`",
          state.held());
    }
    if (!state.slotsKnown()) {
      log.warn(
          "a slot that payrelay.relay_owner names is missing or lost: no outbox partition is dropped; a slot given up for good is deleted from that table");
    }
  }

  @Override
  public void close() {
    executor.shutdownNow();
  }

  private interface Step {
    void run() throws SQLException;
  }

  /** One pass over all steps. */
  private final class Round {

    private final OutboxPartitions partitions;
    private final Connection connection;
    private OutboxPartitions.@Nullable State state;
    private @Nullable Exception failure;
    private String failedStep = "";
    private int dropped;

    Round(OutboxPartitions partitions, Connection connection) {
      this.partitions = partitions;
      this.connection = connection;
    }

    void run() {
      step("rotating DEFAULT", this::rotate);
      step("making days ahead", partitions::create);
      step("taking out old days", this::detach);
      step("asking the slots", partitions::confirmDetached);
      step("reading the dead letters", () -> deadLetters.catchUp(connection));
      step("dropping old days", this::drop);
      step("asking how it stands", () -> state = partitions.state());
    }

    private void step(String name, Step step) {
      try {
        step.run();
      } catch (SQLException | RuntimeException e) {
        // Whatever it is: what is not counted here nobody hears of.
        if (failure == null) {
          failure = e;
          failedStep = name;
        } else {
          log.debug("outbox upkeep failed at: {} too", name, e);
        }
      }
    }

    private void rotate() throws SQLException {
      String rotated = partitions.rotateDefault();
      if (rotated != null) {
        log.info("outbox: the rows of DEFAULT are in {} now", rotated);
      }
    }

    private void detach() throws SQLException {
      for (int i = 0; i < DETACHED_IN_ROUND_MAX; i++) {
        String name = partitions.detachOld();
        if (name == null) {
          return;
        }
        log.info("outbox: {} is taken out and will be dropped", name);
      }
    }

    private void drop() throws SQLException {
      for (String name = partitions.dropDetached();
          name != null;
          name = partitions.dropDetached()) {
        dropped++;
        log.info("outbox: {} is dropped", name);
      }
    }
  }
}
