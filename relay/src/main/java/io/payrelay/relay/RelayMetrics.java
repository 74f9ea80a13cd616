package io.payrelay.relay;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.EventType;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.stream.DoubleStream;
import org.jspecify.annotations.Nullable;

/**
 * The relay's meters. Their names are a contract with dashboards and alert rules: a test holds
 * docs/alerts to them. What is not known is NaN, which no comparison of an alert rule matches. Safe
 * for any thread.
 */
final class RelayMetrics {

  /** Fixed limits, so that histogram_quantile can add up relays: 1 ms to half an hour. */
  private static final Duration[] LATENCY_LIMITS =
      DoubleStream.of(1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 10e3, 30e3, 60e3, 300e3)
          .mapToObj(ms -> Duration.ofMillis((long) ms))
          .toArray(Duration[]::new);

  private static final String OTHER_TYPE = "other";

  private final Map<String, Counter> rows = new HashMap<>();
  private final Counter otherRows;
  private final Counter committed;
  private final Counter aborted;
  private final Map<String, Counter> deadLetters = new HashMap<>();
  private final Counter recoveries;
  private final Timer commitToAcknowledged;
  private volatile SlotWatch slot = SlotWatch.UNKNOWN;
  private volatile long progressNs = System.nanoTime();

  /** What the gauges show of the relay itself. */
  record Sources(Supplier<RelayState> state, Supplier<@Nullable Position> stored) {}

  RelayMetrics(MeterRegistry registry, String slotName, EventCatalogue catalogue, Sources sources) {
    Tags tags = Tags.of("slot", slotName);
    for (EventType type : catalogue.all()) {
      rows.put(type.name(), rowsOf(type.name(), tags, registry));
    }
    for (String reason : RecordFactory.REASON_CODES) {
      deadLetters.put(
          reason,
          counter("dead.letters", "rows sent to the dead-letter topic", tags)
              .tag("reason", reason)
              .register(registry));
    }
    otherRows = rowsOf(OTHER_TYPE, tags, registry);
    committed = transactions("committed", tags, registry);
    aborted = transactions("aborted", tags, registry);
    recoveries = counter("recoveries", "times the relay started anew", tags).register(registry);
    commitToAcknowledged =
        Timer.builder("payrelay.relay.commit.to.acknowledged")
            .description(
                "commit in PostgreSQL to commit in Kafka, of the oldest row of each Kafka transaction")
            .serviceLevelObjectives(LATENCY_LIMITS)
            .tags(tags)
            .register(registry);
    gauges(registry, tags, sources);
  }

  /** A batch is in Kafka. */
  void published(BatchCount batch, Duration oldestCommitToNow) {
    batch.forEachType((type, count) -> rows.getOrDefault(type, otherRows).increment(count));
    batch.forEachDeadLetter(
        (reason, count) -> Objects.requireNonNull(deadLetters.get(reason)).increment(count));
    // A database clock ahead of ours must not hide that there was a batch.
    commitToAcknowledged.record(oldestCommitToNow.isNegative() ? Duration.ZERO : oldestCommitToNow);
  }

  void transactionCommitted() {
    committed.increment();
  }

  /** Begun and not known to be committed: Kafka aborts it, or the commit's result is unknown. */
  void transactionAborted() {
    aborted.increment();
  }

  /** Everything the engine has delivered until now is where it belongs. */
  void progressed() {
    progressNs = System.nanoTime();
  }

  void recovered() {
    recoveries.increment();
  }

  void slot(SlotWatch seen) {
    slot = seen;
  }

  private void gauges(MeterRegistry registry, Tags tags, Sources sources) {
    gauge("slot.lag", "WAL written since the slot's confirmed position", () -> slot.lagBytes())
        .baseUnit("bytes")
        .tags(tags)
        .register(registry);
    gauge(
            "slot.safe.wal",
            "WAL that can be written before the slot is lost; NaN: no limit is set, or not known",
            () -> slot.safeWalBytes())
        .baseUnit("bytes")
        .tags(tags)
        .register(registry);
    gauge(
            "since.progress",
            "time since all that the engine had delivered was in Kafka; NaN: standing by",
            () -> sinceProgressSeconds(sources.state().get()))
        .baseUnit("seconds")
        .tags(tags)
        .register(registry);
    gauge(
            "position.lsn",
            "the stored position's LSN as a number",
            () -> lsn(sources.stored().get()))
        .baseUnit("bytes")
        .tags(tags)
        .register(registry);
    gauge(
            "active",
            "1 where this process publishes",
            () -> sources.state().get() == RelayState.ACTIVE ? 1 : 0)
        .tags(tags)
        .register(registry);
    for (RelayState one : RelayState.values()) {
      gauge("state", "1 for the state it is in", () -> sources.state().get() == one ? 1 : 0)
          .tags(tags)
          .tag("state", one.name())
          .register(registry);
    }
  }

  private double sinceProgressSeconds(RelayState state) {
    return state == RelayState.STANDBY
        ? Double.NaN
        : (System.nanoTime() - progressNs) / (double) TimeUnit.SECONDS.toNanos(1);
  }

  private static double lsn(@Nullable Position stored) {
    return stored == null ? Double.NaN : (double) stored.commitLsn();
  }

  private static Counter rowsOf(String type, Tags tags, MeterRegistry registry) {
    // Upstreams choose the names of types: only known ones may become a label.
    return counter("rows", "outbox rows that are in Kafka, dead letters included", tags)
        .tag("event_type", type)
        .register(registry);
  }

  private static Counter transactions(String result, Tags tags, MeterRegistry registry) {
    return counter("kafka.transactions", "Kafka transactions by what became of them", tags)
        .tag("result", result)
        .register(registry);
  }

  private static Counter.Builder counter(String name, String description, Tags tags) {
    return Counter.builder("payrelay.relay." + name).description(description).tags(tags);
  }

  private static Gauge.Builder<Supplier<Number>> gauge(
      String name, String description, Supplier<Number> value) {
    return Gauge.builder("payrelay.relay." + name, value).description(description);
  }
}
