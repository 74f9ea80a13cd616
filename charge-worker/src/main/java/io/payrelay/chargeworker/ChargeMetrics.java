package io.payrelay.chargeworker;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.payrelay.payments.store.AttemptOutcome;
import io.payrelay.payments.store.OperationAction;
import io.payrelay.payments.store.OperationStore.Backlog;
import java.time.Duration;

/** The worker's meters. Safe for any thread. */
final class ChargeMetrics {

  private final MeterRegistry registry;
  private final Counter authenticationRefused;
  private final Counter deadLetters;
  private final Counter swept;
  private volatile Backlog backlog = new Backlog(0, 0, 0, 0);

  ChargeMetrics(MeterRegistry registry, InFlight inFlight) {
    this.registry = registry;
    authenticationRefused =
        counter("authentication.refused", "calls that a provider refused for our API key");
    deadLetters = counter("dead.letters", "records set aside");
    swept = counter("swept", "payments taken from their row because no event came");
    Gauge.builder("payrelay.charge.in.flight", inFlight, InFlight::count)
        .description("claimed and not yet written")
        .register(registry);
    Gauge.builder("payrelay.charge.unknown.count", () -> backlog.unknownCount())
        .description("payments with an unknown result that are worked on")
        .register(registry);
    Gauge.builder(
            "payrelay.charge.unknown.age.max",
            () -> Duration.ofMillis(backlog.unknownAgeMaxMs()).toSeconds())
        .description("how long the oldest of them has been unknown")
        .baseUnit("seconds")
        .register(registry);
    Gauge.builder("payrelay.charge.due", () -> backlog.dueCount())
        .description("operations that wait to be claimed")
        .register(registry);
    Gauge.builder("payrelay.exceptions.open", () -> backlog.openCases())
        .description("exception cases that wait for a person")
        .register(registry);
  }

  void breaker(ProviderLane lane) {
    Gauge.builder("payrelay.charge.breaker.open", lane, one -> one.breaker().getState().getOrder())
        .description("0: the provider is called; above: it is left alone or tried")
        .tag("provider", lane.provider().name())
        .register(registry);
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

  void backlog(Backlog now) {
    backlog = now;
  }

  private Counter counter(String name, String description) {
    return Counter.builder("payrelay.charge." + name).description(description).register(registry);
  }
}
