package io.payrelay.relay;

import io.micrometer.core.instrument.MeterRegistry;
import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.Failures;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.platform.kafka.KafkaReach;
import io.payrelay.platform.lifecycle.Backoff;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.Topic;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HashSet;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.random.RandomGenerator;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The relay of one slot: waits for the lease, runs a session, and after any error starts again from
 * the lease on, with a jittered backoff. It ends by itself only where a human must act. Safe for
 * any thread.
 */
public final class Relay implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(Relay.class);

  /** Causes of one outage that are told apart in the log. */
  private static final int CAUSES_SAID_MAX = 10;

  private static final Duration NO_SLOT_LIMIT = Duration.ofSeconds(15);

  private final RelayParts parts;
  private final Backoff backoff;
  private final String owner;
  private final OutboxUpkeep upkeep;
  private final KafkaReach kafkaReach;
  private final CompletableFuture<Void> ended = new CompletableFuture<>();
  private final CompletableFuture<Void> closeAsked = new CompletableFuture<>();
  private final Thread thread;
  private volatile RelayState state = RelayState.STANDBY;
  private volatile @Nullable Position stored;
  private int failures;
  private volatile boolean standingBy;
  private volatile String shownCause = "";
  private final Set<String> causesSaid = new HashSet<>();

  /** Prepares a relay; {@link #start} starts it. */
  public Relay(
      RelayConfig config,
      DatabaseConfig database,
      KafkaConfig kafka,
      EventCatalogue catalogue,
      MeterRegistry registry,
      InstantSource clock,
      RandomGenerator random) {
    this(config, database, kafka, catalogue, registry, clock, random, RelayFaults.NONE);
  }

  /** The same, with faults: for tests and the chaos run. */
  public Relay(
      RelayConfig config,
      DatabaseConfig database,
      KafkaConfig kafka,
      EventCatalogue catalogue,
      MeterRegistry registry,
      InstantSource clock,
      RandomGenerator random,
      RelayFaults faults) {
    Set<String> refusedEventIds = ConcurrentHashMap.newKeySet();
    RelayMetrics metrics =
        new RelayMetrics(
            registry,
            config.slotName(),
            catalogue,
            new RelayMetrics.Sources(this::state, () -> stored));
    this.parts =
        new RelayParts(
            config,
            database,
            kafka,
            catalogue,
            new Framing(config.framing(), catalogue),
            metrics,
            faults,
            clock,
            refusedEventIds);
    this.backoff = new Backoff(config.backoffFirst(), config.backoffMax(), random);
    // Two processes may be given the same name by mistake: the nonce keeps them apart.
    this.owner = config.instanceName() + "#" + UUID.randomUUID();
    this.upkeep = new OutboxUpkeep(database, kafka, config, registry, random);
    this.kafkaReach = new KafkaReach(kafka, "payrelay-relay-health");
    this.thread = new Thread(this::run, "payrelay-relay");
  }

  /** Starts working, on threads of its own. */
  public void start() {
    thread.start();
  }

  /** What it is doing now. */
  public RelayState state() {
    return state;
  }

  /** {@code ok}, or that the process must be restarted. */
  public String liveness() {
    return thread.getState() == Thread.State.TERMINATED ? "the relay has ended" : "ok";
  }

  /**
   * {@code ok} while it publishes, or stands by and has reached database and Kafka; else what it
   * waits for. May ask Kafka and take some seconds.
   */
  public String readiness() {
    return switch (state) {
      case ACTIVE -> "ok";
      case STANDBY -> standingBy ? kafkaReach.ask() : "has not reached the database yet";
      case STARTING -> "owns the slot and is about to stream";
      case RECOVERING -> "starts anew after a failure: " + shownCause;
      case STOPPED -> "the relay has ended";
    };
  }

  /** Completes when the relay has ended; exceptionally where a human must act. */
  public CompletableFuture<Void> ended() {
    return ended;
  }

  /** The position that Kafka holds in text form, for status output; null before it is known. */
  public @Nullable String storedPosition() {
    Position known = stored;
    return known == null ? null : known.toString();
  }

  /** Finishes the running batch, gives the lease back and stops. */
  @Override
  public void close() {
    closeAsked.complete(null);
    try {
      if (thread.getState() == Thread.State.NEW) {
        ended.complete(null);
      }
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    upkeep.close();
    kafkaReach.close();
    log.info("slot={} relay stopped", parts.config().slotName());
  }

  private void run() {
    try {
      while (!closeAsked.isDone()) {
        try {
          cycle();
        } catch (RuntimeException e) {
          recoverOrThrow(e);
        }
      }
      ended.complete(null);
    } catch (RuntimeException | Error e) {
      if (e instanceof PayrelayException ours) {
        // The sentence is the whole story; where it is not, DEBUG has the rest.
        log.error("slot={} relay stops: {}", parts.config().slotName(), ours.getMessage());
        log.debug("slot={} relay stops", parts.config().slotName(), e);
      } else {
        log.error("slot={} relay stops", parts.config().slotName(), e);
      }
      ended.completeExceptionally(e);
      if (e instanceof Error error) {
        throw error;
      }
    } finally {
      state = RelayState.STOPPED;
    }
  }

  /** Each cause of an outage is said once, in one line; DEBUG has each repeat with its trace. */
  private void recoverOrThrow(RuntimeException failure) {
    if (isFatal(failure)) {
      throw failure;
    }
    if (closeAsked.isDone()) {
      log.debug("slot={} relay was closed while it failed", parts.config().slotName(), failure);
      return;
    }
    shownCause = shown(failure);
    state = RelayState.RECOVERING;
    parts.metrics().recovered();
    parts.metrics().slot(SlotWatch.UNKNOWN);
    Duration wait = backoff.delay(failures++);
    // Times and offsets in it do not make it another cause.
    String cause = String.valueOf(failure.getMessage()).replaceAll("[0-9]+", "#");
    if (causesSaid.size() < CAUSES_SAID_MAX && causesSaid.add(cause)) {
      log.warn(
          "slot={} relay starts anew, and again until it can work: {}",
          parts.config().slotName(),
          whole(failure));
    }
    log.debug("slot={} relay starts anew", parts.config().slotName(), failure);
    pause(wait);
  }

  /** Only our own sentences are known to hold nothing private. */
  private static String shown(RuntimeException failure) {
    Throwable root = failure;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    String text =
        failure instanceof PayrelayException
            ? String.valueOf(failure.getMessage())
            : failure.getClass().getSimpleName();
    return root == failure ? text : text + " (" + root.getClass().getSimpleName() + ")";
  }

  private void cycle() {
    RelayConfig config = parts.config();
    try (SlotLease lease =
        SlotLease.open(parts.database(), config.slotName(), owner, config.lease())) {
      StartupCheck.schema(lease.connection());
      if (!lease.isKnown()) {
        throw unknownSlot(lease);
      }
      if (awaitLease(lease)) {
        runSession(lease);
      }
    }
  }

  /**
   * Nothing is written for a slot that never was here: its row would hold the upkeep up for ever.
   */
  private PayrelayException unknownSlot(SlotLease lease) {
    String slotName = parts.config().slotName();
    try (Admin admin = Admin.create(parts.kafka().clientProperties("payrelay-relay-admin"))) {
      Position position =
          Topics.exists(admin, Topic.relayPosition(slotName).name())
              ? new PositionStore(parts.kafka(), slotName).newestCommitted(admin, NO_SLOT_LIMIT)
              : null;
      return StartupCheck.unknownSlot(
          lease.connection(),
          parts.config(),
          position,
          Futures.get(admin.describeCluster().clusterId()));
    }
  }

  private boolean awaitLease(SlotLease lease) {
    boolean said = false;
    while (!closeAsked.isDone()) {
      if (lease.acquire()) {
        if (state == RelayState.STANDBY) {
          parts.metrics().progressed();
        }
        return true;
      }
      if (state != RelayState.STANDBY || !said) {
        log.info("slot={} is owned by another relay: standing by", parts.config().slotName());
        said = true;
      }
      state = RelayState.STANDBY;
      standingBy = true;
      // Also while standing by: the slot's lag must be seen where no relay is active.
      parts.metrics().slot(lease.watch());
      upkeep.forget();
      pause(parts.config().leaseRenew().dividedBy(2));
    }
    return false;
  }

  private void runSession(SlotLease lease) {
    state = RelayState.STARTING;
    lease.endWalsender();
    RelaySession session = new RelaySession(parts);
    session.start();
    EngineWatch engineWatch = new EngineWatch(parts.config());
    boolean owned = true;
    try {
      while (!closeAsked.isDone() && !session.ended().isDone()) {
        parts.faults().reached(RelayFaults.Point.BEFORE_RENEW);
        owned = lease.renew();
        if (!owned) {
          throw new PayrelayException(
              Category.RETRIABLE, "Another relay has taken slot " + parts.config().slotName());
        }
        watch(lease, session, engineWatch);
        awaitEnd(session, parts.config().leaseRenew());
      }
    } catch (RuntimeException e) {
      session.abandon();
      if (owned) {
        lease.release();
      }
      throw e;
    }
    session.close();
    lease.release();
    rethrowFailure(session);
  }

  private void watch(SlotLease lease, RelaySession session, EngineWatch engineWatch) {
    stored = session.stored();
    parts.metrics().slot(lease.watch());
    if (session.stored() != null) {
      // A batch that waits for Kafka holds the stream up; how long it may is the silence's matter.
      @Nullable Boolean busy = session.publishing() ? Boolean.TRUE : lease.walsenderBusy();
      engineWatch.check(session.silence(), session.streamed(), busy);
    }
    if (session.active()) {
      if (state != RelayState.ACTIVE) {
        log.info(
            "slot={} relay is active{}",
            parts.config().slotName(),
            failures == 0 ? "" : " again, after " + failures + " failed starts");
      }
      state = RelayState.ACTIVE;
      failures = 0;
      causesSaid.clear();
      upkeep.tick();
    }
  }

  private void awaitEnd(RelaySession session, Duration limit) {
    try {
      CompletableFuture.anyOf(session.ended(), closeAsked)
          .get(limit.toMillis(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      // The usual case: nothing has ended, the next round of watching is due.
      return;
    } catch (ExecutionException e) {
      log.debug("slot={} session has failed", parts.config().slotName(), e);
    } catch (InterruptedException e) {
      interrupted();
    }
  }

  /** The sentence and those of its causes, without a trace. */
  private static String whole(Throwable failure) {
    StringBuilder text = new StringBuilder(String.valueOf(failure.getMessage()));
    Throwable cause = failure.getCause();
    for (int depth = 0; cause != null && depth < CAUSES_SAID_MAX; depth++) {
      String message = cause.getMessage() == null ? cause.getClass().getName() : cause.getMessage();
      if (text.indexOf(message) < 0) {
        text.append(": ").append(message);
      }
      cause = cause.getCause();
    }
    return text.toString();
  }

  private static void rethrowFailure(RelaySession session) {
    try {
      session.ended().getNow(null);
    } catch (java.util.concurrent.CompletionException e) {
      if (e.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw e;
    }
  }

  private void pause(Duration duration) {
    try {
      closeAsked.get(duration.toMillis(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      // The wait is over.
      return;
    } catch (ExecutionException e) {
      throw new IllegalStateException(e);
    } catch (InterruptedException e) {
      interrupted();
    }
  }

  private void interrupted() {
    Thread.currentThread().interrupt();
    closeAsked.complete(null);
  }

  /**
   * Our own refusals, and what Kafka or PostgreSQL refuse this user. All else, what Kafka throws at
   * a fenced producer included, looks the same as what heals: it starts anew.
   */
  private static boolean isFatal(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof Error
          || cause instanceof AuthenticationException
          || cause instanceof AuthorizationException) {
        return true;
      }
      if (cause instanceof PayrelayException ours && ours.category() == Category.FATAL) {
        return true;
      }
    }
    String sqlState = Failures.sqlState(failure);
    return sqlState != null && (sqlState.startsWith("28") || sqlState.equals("42501"));
  }
}
