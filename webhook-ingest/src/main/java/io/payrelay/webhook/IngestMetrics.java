package io.payrelay.webhook;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import io.payrelay.webhook.Receipt.Kind;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;

/** The meters of webhook ingest. Labels hold configured names and constants only. Thread-safe. */
final class IngestMetrics {

  private final MeterRegistry registry;
  private final Timer duration;
  private final AtomicLong parkedCount = new AtomicLong();
  private final AtomicLong parkedAgeMs = new AtomicLong();

  IngestMetrics(MeterRegistry registry) {
    this.registry = registry;
    this.duration = Timer.builder("payrelay.webhook.receive").register(registry);
    registry.gauge("payrelay.webhook.parked", Tags.empty(), parkedCount, AtomicLong::doubleValue);
    registry.gauge(
        "payrelay.webhook.parked.oldest.seconds",
        Tags.empty(),
        parkedAgeMs,
        ms -> ms.doubleValue() / 1000);
  }

  void received(String provider, Receipt receipt, Duration took) {
    duration.record(took);
    if (receipt.kind() == Kind.NEW) {
      count("payrelay.webhook.events", provider, "disposition", receipt.disposition().name());
    } else {
      count("payrelay.webhook.repeats", provider, "kind", receipt.kind().name());
    }
  }

  /** An event that was stored earlier got its end. */
  void matched(String provider, Disposition disposition) {
    count("payrelay.webhook.matched", provider, "disposition", disposition.name());
  }

  void refused(String provider, String reason) {
    count("payrelay.webhook.refused", provider, "reason", reason);
  }

  void parked(EventStore.Parked parked) {
    parkedCount.set(parked.count());
    parkedAgeMs.set(parked.oldestAge().toMillis());
  }

  private void count(String name, String provider, String key, String value) {
    registry.counter(name, "provider", provider, key, value).increment();
  }
}
