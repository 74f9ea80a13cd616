package io.payrelay.workbench;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.simulator.Fault;
import io.payrelay.workbench.ChaosProcess.Death;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.SplittableRandom;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * One chaos run against the charge workers. Everything but the load happens on the thread that runs
 * it: reading the status topic is the wait between two blows. {@link #close} may come from any
 * thread.
 */
final class WorkerChaos implements AutoCloseable {

  private static final int WORKERS = 3;
  private static final int LEASE_MS = 4000;
  private static final int CALL_TIMEOUT_MS = 1500;

  /** The least that a broker takes by default. */
  private static final int SESSION_TIMEOUT_MS = 6000;

  /** Longer than the lease, and than Kafka believes in a member that does not report. */
  private static final int FREEZE_S = 8;

  private static final int KILLS_PER_FREEZE = 7;
  private static final int PASSES_MAX = 5;
  private static final int PAUSE_MS_MAX = 900;

  /** Payments that only serve to kill somebody; no load gets that far. */
  private static final int BAIT_FIRST = 900_000;

  /** So many of them for one kill: whoever makes the call may be frozen, or be heard too late. */
  private static final int BAITS_PER_KILL = 5;

  private static final long REFUND_EVERY_NS = TimeUnit.SECONDS.toNanos(1);
  private static final Duration LOAD_PAUSE = Duration.ofMillis(40);
  private static final Duration POLL = Duration.ofMillis(20);
  private static final Duration READY_LIMIT = Duration.ofMinutes(2);
  private static final Duration POINT_LIMIT = Duration.ofSeconds(20);
  private static final Duration CONVERGE_LIMIT = Duration.ofMinutes(3);

  private final Stack stack;
  private final int kills;
  private final long seed;
  private final LearnBy learnBy;
  private final SplittableRandom random;
  private final WorkerQuestions database;
  private final Invariants invariants;
  private final Shop shop;
  private final ChaosLogs logs = new ChaosLogs();
  private final List<ChaosProcess> workers = new CopyOnWriteArrayList<>();
  private final Map<WorkerKillKind, Integer> killed = new EnumMap<>(WorkerKillKind.class);
  private final Thread exitHook;
  private final Refunding refunding;
  private @Nullable StatusTopic topic;
  private long refundedNs = System.nanoTime();
  private long ownExits;
  private int freezes;
  private int baits;

  /** Prepares a run; it starts nothing yet. */
  WorkerChaos(Stack stack, int kills, long seed, LearnBy learnBy) {
    this.stack = stack;
    this.kills = kills;
    this.seed = seed;
    this.learnBy = learnBy;
    this.random = new SplittableRandom(seed);
    this.database = new WorkerQuestions(stack.owner());
    this.invariants = new Invariants(stack.owner());
    this.shop = new Shop(stack.infra().postgres().jdbcUrl(), seed);
    this.refunding = new Refunding(stack.owner(), shop);
    // On Ctrl-C: the children also end when their input does, but only after our last words.
    this.exitHook = new Thread(this::closeAll, "chaos-exit");
    Runtime.getRuntime().addShutdownHook(exitHook);
  }

  /** Starts, kills, waits for the ends and judges. */
  WorkerChaosReport run(Progress progress) {
    long startNs = System.nanoTime();
    KafkaConfig kafka = new KafkaConfig(stack.infra().kafka().bootstrapServers(), Map.of());
    try (StatusTopic opened = new StatusTopic(kafka);
        StatusTopic refunds = StatusTopic.ofRefunds(kafka);
        RequestLag lag = new RequestLag(kafka)) {
      topic = opened;
      progress.step("starting charge workers");
      rehearse();
      for (int i = 1; i <= WORKERS; i++) {
        String name = "worker-" + i;
        workers.add(
            ChaosProcess.start(
                ChaosProcess.Kind.WORKER, name, memberEnvironment(name), logs.folder()));
      }
      try (PaymentLoad load = PaymentLoad.start(shop, LOAD_PAUSE)) {
        storm(load, progress);
        load.stop();
        boolean converged = converge(progress, refunds, lag);
        return report(opened, refunds, converged, startNs);
      }
    }
  }

  /** Says where they are, and leaves them there. */
  Path keepLogs() {
    return logs.keep();
  }

  @Override
  public void close() {
    try {
      Runtime.getRuntime().removeShutdownHook(exitHook);
    } catch (IllegalStateException e) {
      // The hook is at it.
      return;
    }
    closeAll();
  }

  /** Short leases and quick questions, so that what a death leaves behind is soon taken up. */
  private Map<String, String> environment() {
    Map<String, String> environment = stack.workerEnvironment(learnBy);
    environment.put("PAYRELAY_CHARGE_LEASE_MS", Integer.toString(LEASE_MS));
    environment.put("PAYRELAY_CHARGE_CALL_TIMEOUT_MS", Integer.toString(CALL_TIMEOUT_MS));
    environment.put("PAYRELAY_CHARGE_SWEEP_AGE_MS", "15000");
    environment.put("PAYRELAY_CHARGE_SWEEP_INTERVAL_MS", "2000");
    environment.put("PAYRELAY_CHARGE_BREAKER_WAIT_MS", "1000");
    return environment;
  }

  /** A restarted member is known to Kafka again at once, and one that is frozen is put out. */
  private Map<String, String> memberEnvironment(String name) {
    Map<String, String> environment = environment();
    Path properties = logs.folder().resolve(name + ".properties");
    try {
      Files.writeString(
          properties,
          "group.instance.id=%s%nsession.timeout.ms=%d%nheartbeat.interval.ms=%d%n"
              .formatted(name, SESSION_TIMEOUT_MS, SESSION_TIMEOUT_MS / 4));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    environment.put("PAYRELAY_KAFKA_PROPERTIES_FILE", properties.toString());
    return environment;
  }

  /**
   * One worker works and ends in order, for the classes that it leaves; no payment is there yet.
   */
  private void rehearse() {
    try (ChaosProcess worker =
        ChaosProcess.startRehearsal(ChaosProcess.Kind.WORKER, environment(), logs.folder())) {
      require(readUntil(worker::ready, READY_LIMIT), "The first charge worker is not ready");
      worker.stop();
      require(
          readUntil(() -> worker.death().isDone(), READY_LIMIT),
          "The first charge worker does not stop");
    }
  }

  private void storm(PaymentLoad load, Progress progress) {
    long startNs = System.nanoTime();
    awaitReady(WORKERS);
    int done = 0;
    for (WorkerKillKind kind : WorkerKillKind.plan(kills, random)) {
      if (done % KILLS_PER_FREEZE == 1 || kills == 1) {
        freeze();
      }
      // Most blows fall on one of several, some on the only one that works.
      awaitReady(random.nextInt(4) == 0 ? 1 : 2);
      readUntil(() -> false, Duration.ofMillis(random.nextInt(PAUSE_MS_MAX)));
      awaitReady(1);
      kill(kind);
      done++;
      progress.now(
          "%4d s  killed %d of %d  frozen %d  requested %d  status events %d"
              .formatted(
                  TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - startNs),
                  done,
                  kills,
                  freezes,
                  load.requested(),
                  Objects.requireNonNull(topic).events()));
    }
    require(
        readUntil(() -> workers.stream().noneMatch(ChaosProcess::frozen), READY_LIMIT),
        "A frozen charge worker does not wake");
  }

  /** Stops one in the middle of a call, if it has one; it wakes by itself. */
  private void freeze() {
    awaitReady(1);
    ChaosProcess victim = any();
    boolean unused =
        readUntil(
            () -> !victim.ready() || database.callsInFlight(victim.lifeName()) > 0, POINT_LIMIT);
    if (victim.ready()) {
      victim.freeze(FREEZE_S);
      freezes++;
    }
  }

  /** Exactly one process dies. */
  private void kill(WorkerKillKind kind) {
    if (kind == WorkerKillKind.AFTER_CHARGE) {
      killAfterCharge();
      return;
    }
    ChaosProcess victim = any();
    if (kind.point() == null) {
      count(kind, victim, victim.kill());
      return;
    }
    victim.dieAt(kind.point(), 1 + random.nextInt(PASSES_MAX));
    if (readUntil(() -> victim.death().isDone(), POINT_LIMIT)) {
      count(kind, victim, victim.death().join());
    } else {
      // It had nothing to do that leads there.
      count(WorkerKillKind.AT_RANDOM_INSTANT, victim, victim.kill());
    }
  }

  private void killAfterCharge() {
    for (int i = 0; i < BAITS_PER_KILL; i++) {
      ChaosProcess victim = takeBait();
      if (victim != null) {
        count(WorkerKillKind.AFTER_CHARGE, victim, victim.kill());
        return;
      }
    }
    awaitReady(1);
    ChaosProcess victim = any();
    count(WorkerKillKind.AT_RANDOM_INSTANT, victim, victim.kill());
  }

  /**
   * The provider executes the charge of this payment and then keeps silent: when its ledger has the
   * charge, whoever made the call cannot have read an answer. Null where nobody can be told to have
   * made it.
   */
  private @Nullable ChaosProcess takeBait() {
    int number = BAIT_FIRST + baits++;
    String paymentId = shop.paymentId(number);
    stack.simulator().script(paymentId, Fault.TIMEOUT_AFTER);
    shop.order(number, number + 1);
    boolean charged =
        readUntil(
            () ->
                stack.simulator().charges().stream()
                    .anyMatch(charge -> charge.merchantTransactionId().equals(paymentId)),
            POINT_LIMIT);
    String caller = charged ? database.callerOf(paymentId) : "";
    return working().stream()
        .filter(worker -> worker.lifeName().equals(caller))
        .findFirst()
        .orElse(null);
  }

  private void count(WorkerKillKind kind, ChaosProcess victim, Death death) {
    if (!death.killed()) {
      // It had ended a moment before by itself: noted there, and another one takes its place.
      restartEnded();
      awaitReady(1);
      kill(kind);
      return;
    }
    killed.merge(kind, 1, Integer::sum);
    victim.launch();
  }

  private List<ChaosProcess> working() {
    return workers.stream().filter(worker -> worker.ready() && !worker.frozen()).toList();
  }

  private ChaosProcess any() {
    List<ChaosProcess> working = working();
    return working.get(random.nextInt(working.size()));
  }

  private void awaitReady(int count) {
    require(
        readUntil(() -> working().size() >= count, READY_LIMIT), "The charge workers do not start");
  }

  private void require(boolean held, String sentence) {
    if (!held) {
      throw new PayrelayException(
          Category.FATAL, sentence + "; the logs of the workers are in " + keepLogs());
    }
  }

  /** Only what is at rest can be judged: a webhook on its way may still move a ledger. */
  private boolean converge(Progress progress, StatusTopic refunds, RequestLag lag) {
    StatusTopic reader = Objects.requireNonNull(topic);
    return readUntil(
        () -> {
          long asked = refunding.ask();
          Invariants.Moving moving = invariants.moving(reader, refunds, POLL);
          long webhooks = stack.simulator().stats().webhooksOnTheirWay();
          long requests = lag.records();
          progress.now(
              "waiting for rest: %s, %d webhooks on their way, %d requests not taken"
                  .formatted(moving, webhooks, requests));
          return asked == 0 && moving.nothing() && webhooks == 0 && requests == 0;
        },
        CONVERGE_LIMIT);
  }

  /** Reads the topic until the condition holds; false where the time was over before. */
  private boolean readUntil(BooleanSupplier condition, Duration limit) {
    long deadlineNs = System.nanoTime() + limit.toNanos();
    while (true) {
      restartEnded();
      refuseIfEnded();
      if (System.nanoTime() - refundedNs > REFUND_EVERY_NS) {
        refundedNs = System.nanoTime();
        int unused = refunding.ask();
      }
      if (condition.getAsBoolean()) {
        return true;
      }
      long leftNs = deadlineNs - System.nanoTime();
      if (leftNs <= 0) {
        return false;
      }
      int unused =
          Objects.requireNonNull(topic)
              .poll(leftNs < POLL.toNanos() ? Duration.ofNanos(leftNs) : POLL);
    }
  }

  /** A supervisor restarts a worker that ended; here it also counts against the worker. */
  private void restartEnded() {
    for (ChaosProcess worker : workers) {
      Death death = worker.death().getNow(null);
      if (death != null && !death.killed()) {
        ownExits++;
        worker.launch();
      }
    }
  }

  private void refuseIfEnded() {
    if (stack.ended().isDone()) {
      throw new PayrelayException(
          Category.FATAL,
          "Relay or webhook ingest has ended"
              + stack
                  .ended()
                  .handle((ended, failure) -> failure == null ? "" : ": " + failure)
                  .join());
    }
  }

  private WorkerChaosReport report(
      StatusTopic reader, StatusTopic refunds, boolean converged, long startNs) {
    return new WorkerChaosReport(
        invariants.check(
            stack.simulator(), reader, refunds, Duration.ofNanos(System.nanoTime() - startNs)),
        killed.values().stream().mapToInt(Integer::intValue).sum(),
        killed,
        freezes,
        database.abandonedAttempts(),
        stack.simulator().stats().queries(),
        ownExits,
        converged,
        learnBy,
        seed,
        database.offenders());
  }

  private void closeAll() {
    workers.forEach(ChaosProcess::close);
    logs.close();
  }
}
