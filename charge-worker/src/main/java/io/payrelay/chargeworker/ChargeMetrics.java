package io.payrelay.chargeworker;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.payrelay.payments.lifecycle.ExceptionKind;
import io.payrelay.payments.store.AttemptOutcome;
import io.payrelay.payments.store.BacklogStore.Waiting;
import io.payrelay.payments.store.OperationAction;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.ToDoubleFunction;

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
  private volatile Map<String, Waiting> waiting = Map.of();
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
    waiting(provider, "unknown.count", "payments with an unknown result", Waiting::unknownCount);
    waiting(provider, "due", "charges that wait to be claimed", Waiting::dueCount);
    waiting(
        provider,
        "keys.near.expiry",
        "unresolved charges whose key is safe for a short time only",
        Waiting::keysNearExpiry);
    Gauge.builder(
            "payrelay.charge.unknown.age.max",
            () -> Duration.ofMillis(of(provider).unknownAgeMaxMs()).toSeconds())
        .description("how long the oldest payment with an unknown result has been so")
        .baseUnit("seconds")
        .tag("provider", provider)
        .register(registry);
  }

  private void waiting(
      String provider, String name, String description, ToDoubleFunction<Waiting> value) {
    Gauge.builder("payrelay.charge." + name, () -> value.applyAsDouble(of(provider)))
        .description(description)
        .tag("provider", provider)
        .register(registry);
  }

  private Waiting of(String provider) {
    return waiting.getOrDefault(provider, Waiting.NONE);
  }

  void call(String provider, OperationAction action, AttemptOutcome outcome, Duration took) {
    Timer.builder("payrelay.charge.calls")
        .description("calls to providers, by what became of them")
        .tag("provider", provider)
        .tag("action", action.name())
        .tag("outcome", outcome.name())
        .register(registry)
        .record(took);
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
  void backlog(Map<String, Waiting> byProvider, Map<String, Long> casesByKind) {
    waiting = Map.copyOf(byProvider);
    openCases = Map.copyOf(casesByKind);
  }

  private Counter counter(String name, String description) {
    return Counter.builder("payrelay.charge." + name).description(description).register(registry);
  }
}
