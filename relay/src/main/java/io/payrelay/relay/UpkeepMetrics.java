package io.payrelay.relay;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The upkeep's meters; NaN where nothing is known, as in a relay that stands by. Thread-safe. */
final class UpkeepMetrics {

  private final Counter failures;
  private final Counter dropped;
  private volatile OutboxPartitions.@Nullable State state;
  private volatile @Nullable Long okNs;

  UpkeepMetrics(MeterRegistry registry, String slotName) {
    failures =
        Counter.builder("payrelay.relay.upkeep.failures")
            .description("rounds of the outbox's upkeep that failed in a step")
            .tag("slot", slotName)
            .register(registry);
    dropped =
        Counter.builder("payrelay.outbox.partitions.dropped")
            .description("outbox partitions dropped after their retention")
            .tag("slot", slotName)
            .register(registry);
    gauge(
        registry,
        slotName,
        "days.ahead",
        "days after today that have a partition; -1: not even today",
        () -> of(OutboxPartitions.State::daysAhead));
    gauge(
        registry,
        slotName,
        "default.rows",
        "rows in the DEFAULT partition: of days that have none of their own",
        () -> of(OutboxPartitions.State::defaultRows));
    gauge(
        registry,
        slotName,
        "partitions.held",
        "partitions past their retention that unresolved dead letters hold",
        () -> of(OutboxPartitions.State::held));
    gauge(
        registry,
        slotName,
        "partitions.detached",
        "partitions taken out of the outbox and not dropped yet",
        () -> of(OutboxPartitions.State::detached));
    gauge(
        registry,
        slotName,
        "dead.letters.unresolved",
        "dead letters neither redriven nor discarded",
        () -> of(OutboxPartitions.State::unresolved));
    gauge(
        registry,
        slotName,
        "upkeep.age.seconds",
        "since the last round of upkeep in which every step succeeded, or since the relay is active",
        this::age);
  }

  /** The relay has become active: the age counts from here, since no round may ever succeed. */
  synchronized void begin() {
    if (okNs == null) {
      okNs = System.nanoTime();
    }
  }

  synchronized void round(OutboxPartitions.@Nullable State now, int partitionsDropped, boolean ok) {
    dropped.increment(partitionsDropped);
    if (!ok) {
      failures.increment();
    }
    if (okNs == null) {
      // Forgotten while the round was under way: a standby's age would grow for ever.
      return;
    }
    if (now != null) {
      state = now;
    }
    if (ok) {
      okNs = System.nanoTime();
    }
  }

  synchronized void forget() {
    state = null;
    okNs = null;
  }

  private double of(java.util.function.ToLongFunction<OutboxPartitions.State> value) {
    OutboxPartitions.State known = state;
    return known == null ? Double.NaN : value.applyAsLong(known);
  }

  private double age() {
    Long known = okNs;
    return known == null
        ? Double.NaN
        : (double) Duration.ofNanos(System.nanoTime() - known).toMillis()
            / TimeUnit.SECONDS.toMillis(1);
  }

  private static void gauge(
      MeterRegistry registry,
      String slotName,
      String name,
      String description,
      Supplier<Number> value) {
    Gauge.builder("payrelay.outbox." + name, value)
        .description(description)
        .tag("slot", slotName)
        .register(registry);
  }
}
