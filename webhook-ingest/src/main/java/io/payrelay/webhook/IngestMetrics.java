package io.payrelay.webhook;

import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import io.payrelay.providers.WebhookVerdict;
import io.payrelay.webhook.Receipt.Kind;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/** The meters of webhook ingest. Labels hold configured names and constants only. Thread-safe. */
final class IngestMetrics {

  private static final String EVENTS = "payrelay.webhook.events";
  private static final String MATCHED = "payrelay.webhook.matched";
  private static final String REPEATS = "payrelay.webhook.repeats";
  private static final String REFUSED = "payrelay.webhook.refused";
  private static final String WIPED = "payrelay.webhook.wiped";
  private static final String BUFFERED = "payrelay.webhook.buffered.bytes";

  /** Headers that the verifiers in this build call unreadable. */
  private static final List<String> MALFORMED = List.of("id", "timestamp", "signature");

  private static final double MS_PER_SECOND = 1000;

  private final MeterRegistry registry;
  private final Timer duration;
  private final Map<String, Waiting> waiting = new ConcurrentHashMap<>();

  /** What the gauges of one provider read. */
  private record Waiting(AtomicLong count, AtomicLong oldestMs) {}

  IngestMetrics(MeterRegistry registry) {
    this.registry = registry;
    this.duration = Timer.builder("payrelay.webhook.receive").register(registry);
  }

  /**
   * Shows the providers' meters from the start: a counter that appears with its first event has no
   * rise that an alarm could see.
   */
  void expect(Collection<String> providers) {
    for (String provider : providers) {
      for (Disposition disposition : Disposition.values()) {
        registry.counter(EVENTS, "provider", provider, "disposition", disposition.name());
        registry.counter(MATCHED, "provider", provider, "disposition", disposition.name());
      }
      for (Kind kind : List.of(Kind.DUPLICATE, Kind.CONFLICTING)) {
        registry.counter(REPEATS, "provider", provider, "kind", kind.name());
      }
      for (WebhookVerdict.Refused refused :
          List.of(
              WebhookVerdict.DOES_NOT_FIT,
              WebhookVerdict.OUTSIDE_THE_WINDOW,
              WebhookVerdict.UNKNOWN_KEY)) {
        registry.counter(REFUSED, "provider", provider, "reason", refused.reason());
      }
      for (String reason : MALFORMED) {
        registry.counter(REFUSED, "provider", provider, "reason", reason);
      }
      for (Reason reason : Reason.ofProviders()) {
        registry.counter(REFUSED, "provider", provider, "reason", reason.text());
      }
      waiting(provider);
    }
    for (Reason reason : Reason.ofNobody()) {
      registry.counter(REFUSED, "provider", Reason.NOBODY, "reason", reason.text());
    }
    registry.counter(WIPED);
  }

  /** Shows how many bytes of bodies are held, those that are being read and those at work. */
  void buffered(AtomicLong bytes) {
    registry.gauge(BUFFERED, bytes);
  }

  void received(String provider, Receipt receipt, Duration took) {
    duration.record(took);
    if (receipt.kind() == Kind.NEW) {
      count(EVENTS, provider, "disposition", receipt.disposition().name());
    } else {
      count(REPEATS, provider, "kind", receipt.kind().name());
    }
  }

  /** An event that was stored earlier got its end. */
  void matched(String provider, Disposition disposition) {
    count(MATCHED, provider, "disposition", disposition.name());
  }

  void refused(String provider, Reason reason) {
    count(REFUSED, provider, "reason", reason.text());
  }

  /** As a verifier says it. */
  void refused(String provider, String reason) {
    count(REFUSED, provider, "reason", reason);
  }

  /** What waits now, by provider. */
  void parked(Map<String, EventStore.Parked> parked) {
    parked.keySet().forEach(this::waiting);
    waiting.forEach(
        (provider, shown) -> {
          EventStore.Parked found = parked.get(provider);
          shown.count().set(found == null ? 0 : found.count());
          shown.oldestMs().set(found == null ? 0 : found.oldestAge().toMillis());
        });
  }

  void wiped(int events) {
    registry.counter(WIPED).increment(events);
  }

  private Waiting waiting(String provider) {
    return waiting.computeIfAbsent(
        provider,
        name -> {
          Waiting shown = new Waiting(new AtomicLong(), new AtomicLong());
          Tags tags = Tags.of("provider", name);
          registry.gauge("payrelay.webhook.parked", tags, shown.count(), AtomicLong::doubleValue);
          registry.gauge(
              "payrelay.webhook.parked.oldest.seconds",
              tags,
              shown.oldestMs(),
              ms -> ms.doubleValue() / MS_PER_SECOND);
          return shown;
        });
  }

  private void count(String name, String provider, String key, String value) {
    registry.counter(name, "provider", provider, key, value).increment();
  }
}
