package io.payrelay.chargeworker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.platform.config.Settings;
import io.payrelay.providers.Capabilities;
import io.payrelay.providers.ChargeCall;
import io.payrelay.providers.ChargeRef;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.Prepared;
import io.payrelay.providers.ProviderAnswer;
import io.payrelay.providers.ProviderResult;
import io.payrelay.providers.RefundCall;
import io.payrelay.providers.RefundOrder;
import io.payrelay.providers.RefundRef;
import io.payrelay.providers.RefundSupport;
import java.time.Duration;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ProviderLaneTest {

  private final Silent silent = new Silent();
  private final ProviderLane lane =
      new ProviderLane(
          silent,
          ChargeConfig.from(
              Settings.check(
                  Map.of("PAYRELAY_CHARGE_BREAKER_CALLS_MIN", "4"),
                  ChargeConfig.SETTINGS,
                  ChargeConfig.SETTINGS)),
          "owner",
          new Random(1));

  @Test
  void leavesAProviderAloneThatGivesNoUsableAnswers() {
    report(4, new ProviderResult.Unknown("no answer"));

    assertThat(lane.breaker().getState()).isEqualTo(CircuitBreaker.State.OPEN);
  }

  @Test
  void ourOwnAnswerSaysNothingAboutTheProvider() {
    report(20, ProviderLane.NOBODY_TO_ASK);

    assertThat(lane.breaker().getState()).isEqualTo(CircuitBreaker.State.CLOSED);
    assertThat(lane.breaker().getMetrics().getNumberOfBufferedCalls()).isZero();
  }

  @Test
  void ourOwnAnswerUsesUpNoTrialCall() {
    lane.breaker().transitionToOpenState();
    lane.breaker().transitionToHalfOpenState();

    report(20, ProviderLane.NOBODY_TO_ASK);

    assertThat(lane.take(100)).isEqualTo(5);
  }

  @Test
  void aResultThatCannotBeToldUsesUpNoTrialCall() {
    lane.breaker().transitionToOpenState();
    lane.breaker().transitionToHalfOpenState();

    for (int i = 0; i < 20; i++) {
      assertThat(lane.take(1)).isEqualTo(1);
      assertThatThrownBy(() -> lane.report(null, Duration.ZERO))
          .isInstanceOf(NullPointerException.class);
      lane.giveBack(1, 1);
    }

    assertThat(lane.take(100)).isEqualTo(5);
  }

  @Test
  void takesNoMoreThanMayBeInFlight() {
    lane.inFlight().add(250);

    assertThat(lane.take(100)).isEqualTo(6);
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 7, 9, 10, 11, 19, 25, 101, 100_000})
  void keepsToTheRateExactlyAndNeverAboveIt(int perSecond) {
    for (long pollMs : new long[] {5, 200, 60_000}) {
      RateLimiterConfig rate = ProviderLane.rate(perSecond, Duration.ofMillis(pollMs));

      double made =
          rate.getLimitForPeriod() * 1e9 / (double) rate.getLimitRefreshPeriod().toNanos();
      assertThat(made).isLessThanOrEqualTo(perSecond).isGreaterThan(perSecond * 0.999_999);
      assertThat(rate.getLimitRefreshPeriod())
          .isGreaterThanOrEqualTo(Duration.ofMillis(Math.min(pollMs, 1_000)));
    }
  }

  @Test
  void takesNothingAsLongAsTheProviderAsksUsToStayAway() {
    silent.pause = Duration.ofMillis(1);
    assertThat(lane.take(100)).isZero();

    silent.pause = Duration.ZERO;
    assertThat(lane.take(100)).isEqualTo(100);
  }

  private void report(int times, ProviderResult result) {
    for (int i = 0; i < times; i++) {
      assertThat(lane.take(1)).isEqualTo(1);
      lane.report(result, Duration.ZERO);
      lane.giveBack(1, 1);
    }
  }

  /** Has a name and no queries. */
  static final class Silent implements PaymentProvider {

    private volatile Duration pause = Duration.ZERO;

    @Override
    public Duration pauseLeft() {
      return pause;
    }

    @Override
    public String name() {
      return "silent";
    }

    @Override
    public Capabilities capabilities() {
      return new Capabilities(Duration.ofDays(1), false, Duration.ZERO, false, RefundSupport.NONE);
    }

    @Override
    public Prepared prepareCharge(Payment payment) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<ProviderAnswer> charge(ChargeCall call) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<ProviderAnswer> query(ChargeRef charge, Duration timeout) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<ProviderAnswer> cancel(ChargeRef charge, Duration timeout) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Prepared prepareRefund(RefundOrder order) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<ProviderAnswer> refund(RefundCall call) {
      throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<ProviderAnswer> queryRefund(RefundRef refund, Duration timeout) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void close() {}
  }
}
