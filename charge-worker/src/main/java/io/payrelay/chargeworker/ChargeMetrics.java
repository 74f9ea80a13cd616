package io.payrelay.chargeworker;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.Timer;
import io.payrelay.payments.lifecycle.ExceptionKind;
import io.payrelay.payments.store.AttemptOutcome;
import io.payrelay.payments.store.BacklogStore.Waiting;
import io.payrelay.payments.store.OperationAction;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;

/**
 * The worker's meters. What is read from the database is the same in every worker: take the
 * maximum. Safe for any thread.
 */
final class ChargeMetrics {

  private final MeterRegistry registry;
  private final Counter authenticationRefused;
  private final Counter deadLetters;
  private final Counter swept;
  private final Counter wiped;
  private volatile Map<String, Waiting> charges = Map.of();
  private volatile Map<String, Waiting> refunds = Map.of();
  private volatile Map<String, Long> openCases = Map.of();

  ChargeMetrics(MeterRegistry registry, List<ProviderLane> lanes) {
    this.registry = registry;
    authenticationRefused =
        counter("authentication.refused", "calls that a provider refused for our API key");
    deadLetters = counter("dead.letters", "records set aside");
    swept = counter("swept", "payments taken from their row because no event came");
    wiped = counter("wiped", "charges whose bodies were removed after their time");
    lanes.forEach(this::lane);
    for (ExceptionKind kind : ExceptionKind.values()) {
      Gauge.builder("payrelay.exceptions.open", () -> openCases.getOrDefault(kind.name(), 0L))
          .description("exception cases that wait for a person")
          .tag("kind", kind.name())
          .register(registry);
    }
  }

  private void lane(ProviderLane lane) {
    String provider = lane.provider().name();
    Gauge.builder("payrelay.charge.in.flight", lane.inFlight(), InFlight::count)
        .description("claimed and not yet written")
        .tag("provider", provider)
        .register(registry);
    Gauge.builder("payrelay.charge.breaker.state", lane, one -> one.breaker().getState().getOrder())
        .description("0: the provider is called; 1: it is left alone; 2: it is tried")
        .tag("provider", provider)
        .register(registry);
    Gauge.builder("payrelay.charge.pause", lane, one -> one.provider().pauseLeft().toMillis() / 1e3)
        .description("how long it still asks us to stay away, by Retry-After")
        .baseUnit("seconds")
        .tag("provider", provider)
        .register(registry);
    // With 0 from the start: a rate needs a value before the first.
    abandoned(provider, false, 0);
    abandoned(provider, true, 0);
    waiting(provider, "CHARGE", () -> charges);
    waiting(provider, "REFUND", () -> refunds);
  }

  private void waiting(
      String provider, String operation, Supplier<Map<String, Waiting>> byProvider) {
    Supplier<Waiting> now = () -> byProvider.get().getOrDefault(provider, Waiting.NONE);
    Tags tags = Tags.of("provider", provider, "operation", operation);
    Gauge.builder("payrelay.charge.unknown.count", () -> now.get().unknownCount())
        .description("payments, or refunds, with an unknown result")
        .tags(tags)
        .register(registry);
    Gauge.builder(
            "payrelay.charge.unknown.age.max",
            () -> Duration.ofMillis(now.get().unknownAgeMaxMs()).toSeconds())
        .description("how long the oldest one with an unknown result has been so")
        .baseUnit("seconds")
        .tags(tags)
        .register(registry);
    Gauge.builder("payrelay.charge.due", () -> now.get().dueCount())
        .description("operations that wait to be claimed")
        .tags(tags)
        .register(registry);
    Gauge.builder("payrelay.charge.keys.near.expiry", () -> now.get().keysNearExpiry())
        .description("unresolved operations whose key is safe for a short time only")
        .tags(tags)
        .register(registry);
  }

  /** Shows how many outcomes wait because somebody holds their payment. */
  void held(Supplier<Number> count) {
    Gauge.builder("payrelay.charge.held", count)
        .description("answers that wait for a row or a table that somebody holds")
        .register(registry);
  }

  void call(
      String provider,
      boolean ofRefund,
      OperationAction action,
      AttemptOutcome outcome,
      Duration took) {
    Timer.builder("payrelay.charge.calls")
        .description("calls to providers, by what became of them")
        .tag("provider", provider)
        .tag("operation", ofRefund ? "REFUND" : "CHARGE")
        .tag("action", action.name())
        .tag("outcome", outcome.name())
        .register(registry)
        .record(took);
  }

  /** Attempts whose lease was over, whoever had begun them; by the worker that found them. */
  void abandoned(String provider, boolean ofRefund, int count) {
    Counter.builder("payrelay.charge.abandoned")
        .description("attempts whose lease ended before anybody wrote what became of them")
        .tag("provider", provider)
        .tag("operation", ofRefund ? "REFUND" : "CHARGE")
        .register(registry)
        .increment(count);
  }

  void authenticationRefused() {
    authenticationRefused.increment();
  }

  void deadLetters(int count) {
    deadLetters.increment(count);
  }

  void swept(int count) {
    swept.increment(count);
  }

  void wiped(int count) {
    wiped.increment(count);
  }

  /** What waits for providers and people, as it is now. */
  void backlog(
      Map<String, Waiting> chargesByProvider,
      Map<String, Waiting> refundsByProvider,
      Map<String, Long> casesByKind) {
    charges = Map.copyOf(chargesByProvider);
    refunds = Map.copyOf(refundsByProvider);
    openCases = Map.copyOf(casesByKind);
  }

  private Counter counter(String name, String description) {
    return Counter.builder("payrelay.charge." + name).description(description).register(registry);
  }
}
