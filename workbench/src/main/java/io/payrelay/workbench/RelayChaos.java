package io.payrelay.workbench;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.payrelay.app.Parts;
import io.payrelay.localstack.LocalStack;
import io.payrelay.localstack.OutboxAudit;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.kafka.HeaderValues;
import io.payrelay.relay.RelayFaults;
import io.payrelay.schemas.EncodingException;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.EventCodec;
import io.payrelay.schemas.Topic;
import java.nio.file.Path;
import java.time.Duration;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BooleanSupplier;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;

/**
 * One chaos run against the relay. Everything but the load happens on the thread that runs it:
 * reading Kafka is the wait between two blows. {@link #close} may come from any thread.
 */
final class RelayChaos implements AutoCloseable {

  /** One works, two wait: a second kill during a takeover still finds a standby. */
  private static final int RELAYS = 3;

  private static final long NS_PER_MS = 1_000_000;
  private static final Duration POLL = Duration.ofMillis(20);
  private static final Duration RELAY_LIMIT = Duration.ofSeconds(90);
  private static final Duration POINT_LIMIT = Duration.ofSeconds(60);
  private static final Duration SPARE_LIMIT = Duration.ofMillis(300);
  private static final Duration DRAIN_LIMIT = Duration.ofMinutes(3);
  private static final int PASSES_MAX = 12;
  private static final int TAKEOVER_WINDOW_MS = 1500;
  private static final long AFTER_TAKEOVER_NS = 1500 * NS_PER_MS;
  private static final int WALSENDER_ONE_IN = 3;
  private static final String SLOT = "payrelay";

  private final LocalStack infra;
  private final int kills;
  private final long seed;
  private final Duration spread;
  private final SplittableRandom random;
  private final RelayQuestions database;
  private final ChaosLogs logs;
  private final List<ChaosProcess> relays = new CopyOnWriteArrayList<>();
  private final TakeoverClock takeovers = new TakeoverClock();
  private final Map<KillKind, Integer> killed = new EnumMap<>(KillKind.class);
  private final Thread exitHook;
  private @Nullable OutboxAudit audit;
  private final EventCodec codec = new EventCodec(EventCatalogue.builtIn());
  private long deadLetters;
  private long misrouted;
  private long walsenders;
  private long ownExits;
  private long lastKillNs = System.nanoTime();

  /** Prepares a run; it starts nothing yet. */
  RelayChaos(LocalStack infra, int kills, long seed, Duration spread) {
    this.infra = infra;
    this.kills = kills;
    this.seed = seed;
    this.spread = spread;
    this.random = new SplittableRandom(seed);
    this.database = new RelayQuestions(infra.postgres().jdbcUrl(), infra.postgres().user(), SLOT);
    this.logs = new ChaosLogs();
    // On Ctrl-C: the children also end when their input does, but only after our last words.
    this.exitHook = new Thread(this::closeRelays, "chaos-exit");
    Runtime.getRuntime().addShutdownHook(exitHook);
  }

  /** Starts, kills, drains and compares. */
  RelayChaosReport run(Progress progress) {
    progress.step("tables, slot and topics");
    long startNs = System.nanoTime();
    String user = infra.postgres().user();
    Parts.migrate(Stack.environment(infra, user));
    DatabaseUsers.create(infra.postgres().jdbcUrl(), user);
    try (OutboxAudit opened = audit()) {
      audit = opened;
      progress.step("rehearsing");
      rehearse();
      Map<String, String> environment = Stack.environment(infra, DatabaseUsers.RELAY);
      for (int i = 1; i <= RELAYS; i++) {
        relays.add(
            ChaosProcess.start(ChaosProcess.Kind.RELAY, "relay-" + i, environment, logs.folder()));
      }
      try (OutboxLoad load = OutboxLoad.start(infra.postgres().jdbcUrl(), user, seed)) {
        progress.step("starting relays");
        awaitActive(true);
        storm(load, progress);
        load.stop();
        progress.step("waiting for the rest");
        Set<UUID> rows = opened.rows();
        boolean drained = drain(rows);
        return report(opened.verdict(rows), load, drained, startNs);
      }
    }
  }

  /** Says where they are, and leaves them there. */
  Path keepLogs() {
    return logs.keep();
  }

  @Override
  public void close() {
    closeRelays();
    database.close();
    try {
      Runtime.getRuntime().removeShutdownHook(exitHook);
    } catch (IllegalStateException e) {
      // The hook is what closes us.
      return;
    }
    logs.close();
  }

  /** One relay becomes active and ends in order; it is none of those that are killed. */
  private void rehearse() {
    try (ChaosProcess relay =
        ChaosProcess.startRehearsal(
            ChaosProcess.Kind.RELAY,
            Stack.environment(infra, DatabaseUsers.RELAY),
            logs.folder())) {
      readUntil(() -> database.owner().startsWith(relay.lifeName()) && relay.ready(), RELAY_LIMIT);
      readUntil(database::hasWalsender, RELAY_LIMIT);
      relay.stop();
      readUntil(() -> relay.death().isDone(), RELAY_LIMIT);
    }
  }

  private void storm(OutboxLoad load, Progress progress) {
    long startNs = System.nanoTime();
    long slotNs = Math.max(1, spread.toNanos() / kills);
    List<KillKind> plan = KillKind.plan(kills, random);
    for (int i = 0; i < kills; i++) {
      KillKind kind = plan.get(i);
      long dueNs = startNs + slotNs * i + random.nextLong(slotNs);
      awaitInstant(
          kind, dueNs, Duration.ofNanos(random.nextLong(Math.min(slotNs, AFTER_TAKEOVER_NS))));
      kill(kind);
      load.published(Objects.requireNonNull(audit).events());
      progress.now(
          "%4d s  killed %d of %d  walsenders %d  transactions %d  events %d  longest takeover %d ms"
              .formatted(
                  Duration.ofNanos(System.nanoTime() - startNs).toSeconds(),
                  i + 1,
                  kills,
                  walsenders,
                  load.committed(),
                  Objects.requireNonNull(audit).events(),
                  takeovers.longestMs()));
    }
    readUntil(() -> false, Duration.ofNanos(startNs + spread.toNanos() - System.nanoTime()));
    // The last takeover counts too.
    awaitTakeover();
  }

  private void awaitTakeover() {
    if (!readUntil(() -> !takeovers.running(), RELAY_LIMIT)) {
      throw new PayrelayException(
          Category.FATAL,
          "No record came for %d s after a kill; the relays' logs are in %s"
              .formatted(RELAY_LIMIT.toSeconds(), keepLogs()));
    }
  }

  /**
   * Most blows fall on a relay that works; behind schedule, soon after it works again. In between
   * the walsender is ended, now and then.
   */
  private void awaitInstant(KillKind kind, long dueNs, Duration afterTakeover) {
    if (kind == KillKind.DURING_TAKEOVER) {
      long soonNs = lastKillNs + random.nextLong(TAKEOVER_WINDOW_MS * NS_PER_MS);
      readUntil(() -> false, Duration.ofNanos(soonNs - System.nanoTime()));
      return;
    }
    awaitTakeover();
    if (random.nextInt(WALSENDER_ONE_IN) == 0) {
      readUntil(() -> false, afterTakeover.dividedBy(2));
      walsenders += readUntil(database::endWalsender, RELAY_LIMIT) ? 1 : 0;
    }
    readUntil(() -> false, afterTakeover);
    readUntil(() -> false, Duration.ofNanos(dueNs - System.nanoTime()));
  }

  /** Exactly one process dies. */
  private void kill(KillKind kind) {
    if (kind == KillKind.STANDBY) {
      ChaosProcess standby = awaitStandby();
      count(kind, standby, standby.kill(), false);
      return;
    }
    RelayFaults.Point point = kind.point();
    ChaosProcess dead = point == null ? null : deadAt(point, 1 + random.nextInt(PASSES_MAX));
    if (dead != null) {
      count(kind, dead, dead.death().join(), true);
      return;
    }
    // Who is killed during a takeover may well be the last one: the others are starting.
    ChaosProcess active = awaitActive(kind != KillKind.DURING_TAKEOVER);
    count(point == null ? kind : KillKind.AT_RANDOM_INSTANT, active, active.kill(), true);
  }

  /** Whoever owns the slot when it comes to that point: it may change hands before. */
  private @Nullable ChaosProcess deadAt(RelayFaults.Point point, int pass) {
    long deadlineNs = System.nanoTime() + POINT_LIMIT.toNanos();
    while (System.nanoTime() < deadlineNs) {
      ChaosProcess active = awaitActive(true);
      active.dieAt(point, pass);
      readUntil(
          () -> active.death().isDone() || !owns(active),
          Duration.ofNanos(deadlineNs - System.nanoTime()));
      if (active.death().isDone()) {
        return active;
      }
      active.spare(point);
      // It may have been there in that very moment.
      if (readUntil(() -> active.death().isDone(), SPARE_LIMIT)) {
        return active;
      }
    }
    return null;
  }

  private boolean owns(ChaosProcess relay) {
    return database.owner().startsWith(relay.lifeName() + "#");
  }

  private void count(
      KillKind kind, ChaosProcess victim, ChaosProcess.Death death, boolean wasActive) {
    if (!death.killed()) {
      // It had ended a moment before by itself: noted there, and another one takes its place.
      restartEnded();
      kill(kind);
      return;
    }
    killed.merge(kind, 1, Integer::sum);
    lastKillNs = death.atNs();
    if (wasActive) {
      takeovers.died(death.atNs(), death.wallMs());
    }
    victim.launch();
  }

  private ChaosProcess awaitActive(boolean withStandby) {
    ChaosProcess[] found = new ChaosProcess[1];
    boolean any =
        readUntil(
            () -> {
              String owner = database.owner();
              for (ChaosProcess relay : relays) {
                if (owner.startsWith(relay.lifeName() + "#") && relay.ready()) {
                  found[0] = relay;
                  return !withStandby
                      || relays.stream().anyMatch(other -> other != relay && other.ready());
                }
              }
              return false;
            },
            RELAY_LIMIT);
    if (!any) {
      throw new PayrelayException(
          Category.FATAL,
          "No relay took the slot for %d s; their logs are in %s"
              .formatted(RELAY_LIMIT.toSeconds(), keepLogs()));
    }
    return found[0];
  }

  private ChaosProcess awaitStandby() {
    ChaosProcess active = awaitActive(true);
    return relays.stream()
        .filter(relay -> relay != active && relay.ready())
        .findAny()
        .orElseThrow();
  }

  /** Everything is in Kafka, and the slot says so too. */
  private boolean drain(Set<UUID> rows) {
    String end = database.walEnd();
    OutboxAudit reader = Objects.requireNonNull(audit);
    return readUntil(
        () ->
            reader.events() >= rows.size()
                && database.confirmed(end)
                && reader.atEnd()
                && reader.hasAll(rows),
        DRAIN_LIMIT);
  }

  /** Reads Kafka until the condition holds; false where the time was over before. */
  private boolean readUntil(BooleanSupplier condition, Duration limit) {
    long deadlineNs = System.nanoTime() + limit.toNanos();
    do {
      long leftNs = Math.max(0, deadlineNs - System.nanoTime());
      Duration wait = leftNs < POLL.toNanos() ? Duration.ofNanos(leftNs) : POLL;
      int unused = Objects.requireNonNull(audit).poll(wait, this::seen);
      restartEnded();
      if (condition.getAsBoolean()) {
        return true;
      }
    } while (System.nanoTime() < deadlineNs);
    return false;
  }

  private void seen(ConsumerRecord<byte[], byte[]> read) {
    takeovers.visible(read.timestamp(), System.nanoTime());
    deadLetters += read.topic().equals(Topic.DEAD_LETTER) ? 1 : 0;
    misrouted += isAsWritten(read) ? 0 : 1;
  }

  /** Its number is in the event id and in the payload, its aggregate in the key. */
  private boolean isAsWritten(ConsumerRecord<byte[], byte[]> read) {
    UUID eventId = OutboxAudit.eventId(read);
    if (read.topic().equals(Topic.DEAD_LETTER) || OutboxWriter.isPoison(eventId)) {
      return read.topic().equals(Topic.DEAD_LETTER) && OutboxWriter.isPoison(eventId);
    }
    try {
      GenericRecord event =
          codec.decode(read.value(), HeaderValues.last(read.headers(), EventCodec.DATA_SCHEMA));
      boolean charge = read.topic().equals(Topic.CHARGE_REQUESTS);
      long number = (Long) event.get(charge ? "amount_minor" : "version");
      String paymentId = event.get("payment_id").toString();
      return number == eventId.getLeastSignificantBits()
          && (paymentId.equals(OutboxWriter.HUGE_PAYMENT)
              || paymentId.equals(new String(read.key(), UTF_8)));
    } catch (EncodingException e) {
      return false;
    }
  }

  /** A supervisor restarts a relay that ended; here it also counts against the relay. */
  private void restartEnded() {
    for (ChaosProcess relay : relays) {
      ChaosProcess.Death death = relay.death().getNow(null);
      if (death != null && !death.killed()) {
        ownExits++;
        relay.launch();
      }
    }
  }

  private OutboxAudit audit() {
    return new OutboxAudit(
        infra.postgres().jdbcUrl(),
        infra.postgres().user(),
        infra.kafka().bootstrapServers(),
        Topic.all().stream().map(Topic::name).toList(),
        read -> OptionalLong.of(OutboxAudit.eventId(read).getLeastSignificantBits()));
  }

  private RelayChaosReport report(
      OutboxAudit.Verdict verdict, OutboxLoad load, boolean drained, long startNs) {
    return new RelayChaosReport(
        verdict.rows(),
        load.committed(),
        load.rolledBack(),
        deadLetters,
        killed.values().stream().mapToInt(Integer::intValue).sum(),
        killed,
        walsenders,
        verdict.lost(),
        verdict.duplicated(),
        verdict.outOfOrder(),
        verdict.invented(),
        misrouted,
        ownExits,
        drained,
        takeovers.count(),
        takeovers.longestMs(),
        seed,
        Duration.ofNanos(System.nanoTime() - startNs).toMillis() / 1000.0,
        verdict.offenders());
  }

  private void closeRelays() {
    relays.forEach(ChaosProcess::close);
  }
}
