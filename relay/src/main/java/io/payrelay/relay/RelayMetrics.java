package io.payrelay.relay;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;

/** The relay's meters. Safe for any thread. */
final class RelayMetrics {

  private final Counter rows;
  private final Counter transactions;
  private final Map<String, Counter> deadLetters = new HashMap<>();
  private final Counter recoveries;
  private final Timer latency;
  private final AtomicLong slotLagBytes = new AtomicLong(-1);

  RelayMetrics(MeterRegistry registry, String slotName, Supplier<RelayState> state) {
    rows = counter(registry, slotName, "rows", "outbox rows published");
    transactions = counter(registry, slotName, "transactions", "Kafka transactions committed");
    for (String reason : RecordFactory.REASON_CODES) {
      deadLetters.put(
          reason,
          Counter.builder("payrelay.relay.dead.letters")
              .description("rows sent to the dead-letter topic")
              .tag("slot", slotName)
              .tag("reason", reason)
              .register(registry));
    }
    recoveries = counter(registry, slotName, "recoveries", "times the relay started anew");
    latency =
        Timer.builder("payrelay.relay.latency")
            .description("from the commit in PostgreSQL to the commit in Kafka")
            .publishPercentiles(0.5, 0.99)
            .tag("slot", slotName)
            .register(registry);
    Gauge.builder("payrelay.relay.slot.lag", slotLagBytes, AtomicLong::get)
        .description("WAL that the slot keeps back; -1: not known")
        .baseUnit("bytes")
        .tag("slot", slotName)
        .register(registry);
    for (RelayState one : RelayState.values()) {
      Gauge.builder("payrelay.relay.state", () -> state.get() == one ? 1 : 0)
          .description("1 for the state the relay is in")
          .tag("slot", slotName)
          .tag("state", one.name())
          .register(registry);
    }
  }

  void published(int rowCount, List<String> deadLetterReasons) {
    rows.increment(rowCount);
    for (String reason : deadLetterReasons) {
      Objects.requireNonNull(deadLetters.get(reason)).increment();
    }
  }

  void transactionCommitted() {
    transactions.increment();
  }

  void latency(Duration fromCommit) {
    latency.record(fromCommit);
  }

  void recovered() {
    recoveries.increment();
  }

  void slotLag(long bytes) {
    slotLagBytes.set(bytes);
  }

  private static Counter counter(
      MeterRegistry registry, String slotName, String name, String description) {
    return Counter.builder("payrelay.relay." + name)
        .description(description)
        .tag("slot", slotName)
        .register(registry);
  }
}
