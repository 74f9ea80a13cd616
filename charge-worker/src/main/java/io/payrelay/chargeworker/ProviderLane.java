package io.payrelay.chargeworker;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.github.resilience4j.ratelimiter.RateLimiter;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.payrelay.payments.store.ClaimTerms;
import io.payrelay.platform.lifecycle.Backoff;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.ProviderResult;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * A provider with what holds back its claims: a bound on calls in flight, a rate limit, a breaker
 * that leaves it alone while it gives no usable answers, and its own word that we are to wait. None
 * costs an attempt, and none is shared with another provider. Permits are taken by one thread;
 * results are reported by any.
 */
final class ProviderLane {

  /** The least time over which a rate is kept; longer periods make bursts. */
  private static final Duration RATE_PERIOD = Duration.ofMillis(100);

  private static final Duration RATE_PERIOD_MAX = Duration.ofSeconds(1);

  /** Trial calls when a provider was left alone for long enough. */
  private static final int TRIAL_CALLS = 5;

  /** Our own answer where a provider has no queries: it says nothing about the provider. */
  static final ProviderResult NOBODY_TO_ASK =
      new ProviderResult.Unknown(PaymentProvider.NOBODY_TO_ASK);

  private final PaymentProvider provider;
  private final ClaimTerms terms;
  private final StepPlanner planner;
  private final InFlight inFlight;
  private final CircuitBreaker breaker;
  private final @Nullable RateLimiter limiter;

  ProviderLane(
      PaymentProvider provider, ChargeConfig config, String owner, RandomGenerator random) {
    ProviderManners manners = config.manners(provider.name());
    this.provider = provider;
    this.inFlight = new InFlight(manners.inFlightMax());
    this.planner =
        new StepPlanner(
            new QuerySchedule(manners.queryDelays(), manners.queryDelayCap(), random),
            new Backoff(config.retryFirst(), config.retryCap(), random),
            manners.pendingExpiry());
    this.terms =
        new ClaimTerms(
            owner,
            config.lease(),
            ClaimTerms.keySafe(
                provider.capabilities().keyLifetime(), config.lease(), config.callTimeout()),
            manners.resolveHorizon(),
            provider.capabilities().queryByPaymentId());
    this.breaker =
        CircuitBreaker.of(
            provider.name(),
            CircuitBreakerConfig.custom()
                .slidingWindow(
                    manners.breakerCallsMin() * 2,
                    manners.breakerCallsMin(),
                    CircuitBreakerConfig.SlidingWindowType.COUNT_BASED)
                .failureRateThreshold(manners.breakerFailurePercent())
                .waitDurationInOpenState(manners.breakerWait())
                .permittedNumberOfCallsInHalfOpenState(TRIAL_CALLS)
                .recordResult(Boolean.FALSE::equals)
                .build());
    this.limiter =
        manners.ratePerSecond() == 0
            ? null
            : RateLimiter.of(provider.name(), rate(manners.ratePerSecond(), config.pollInterval()));
  }

  PaymentProvider provider() {
    return provider;
  }

  ClaimTerms terms() {
    return terms;
  }

  StepPlanner planner() {
    return planner;
  }

  InFlight inFlight() {
    return inFlight;
  }

  CircuitBreaker breaker() {
    return breaker;
  }

  /** Takes up to so many permits; those that are not used go back by {@link #giveBack}. */
  int take(int wanted) {
    if (!provider.pauseLeft().isZero()) {
      return 0;
    }
    int room = Math.min(wanted, inFlight.room());
    int most =
        limiter == null
            ? room
            : Math.min(room, Math.max(0, limiter.getMetrics().getAvailablePermissions()));
    int taken = 0;
    while (taken < most && breaker.tryAcquirePermission()) {
      taken++;
    }
    return taken;
  }

  /** Settles what was taken. */
  void giveBack(int taken, int used) {
    for (int i = used; i < taken; i++) {
      breaker.releasePermission();
    }
    if (limiter != null && used > 0) {
      // Only one thread takes: what was available is still there.
      boolean unused = limiter.acquirePermission(used);
    }
  }

  /** Tells the breaker how a call ended; what it took is given back whatever happens. */
  void report(ProviderResult result, Duration took) {
    try {
      tell(result, took);
    } catch (RuntimeException e) {
      // The breaker has few trial calls: without them the provider would be left alone for ever.
      breaker.releasePermission();
      throw e;
    }
  }

  private void tell(ProviderResult result, Duration took) {
    boolean unsent =
        result instanceof ProviderResult.NotProcessed refused
            && refused.reason().equals(PaymentProvider.RETURNED_UNSENT);
    if (unsent || result.equals(NOBODY_TO_ASK)) {
      breaker.releasePermission();
    } else {
      boolean usable =
          !(result instanceof ProviderResult.Unknown)
              && !(result instanceof ProviderResult.NotProcessed);
      breaker.onResult(took.toNanos(), TimeUnit.NANOSECONDS, usable);
    }
  }

  /**
   * Whole permits in just the time that they take. What is not taken in its period is lost, so none
   * is shorter than the pause between two looks; what a look itself takes makes it a little slower.
   */
  static RateLimiterConfig rate(int perSecond, Duration pollInterval) {
    Duration longer = pollInterval.compareTo(RATE_PERIOD) > 0 ? pollInterval : RATE_PERIOD;
    Duration least = longer.compareTo(RATE_PERIOD_MAX) > 0 ? RATE_PERIOD_MAX : longer;
    long secondNs = TimeUnit.SECONDS.toNanos(1);
    long permits = dividedUp(perSecond * least.toNanos(), secondNs);
    return RateLimiterConfig.custom()
        .limitRefreshPeriod(Duration.ofNanos(dividedUp(permits * secondNs, perSecond)))
        .limitForPeriod(Math.toIntExact(permits))
        .timeoutDuration(Duration.ZERO)
        .build();
  }

  private static long dividedUp(long dividend, long divisor) {
    return (dividend + divisor - 1) / divisor;
  }
}
