package io.payrelay.payments.store;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.LongRange;
import org.junit.jupiter.api.Test;

class ClaimTermsTest {

  private static final Duration LEASE = Duration.ofSeconds(90);
  private static final Duration TIMEOUT = Duration.ofSeconds(30);

  @Test
  void leavesATenthOfALongLife() {
    assertThat(ClaimTerms.keySafe(Duration.ofHours(24), LEASE, TIMEOUT))
        .isEqualTo(Duration.ofMinutes(21 * 60 + 36));
  }

  @Test
  void leavesTheTimeOnTheWayOfAShortLife() {
    assertThat(ClaimTerms.keySafe(Duration.ofMinutes(10), LEASE, TIMEOUT))
        .isEqualTo(Duration.ofMinutes(8));
  }

  @Test
  void isOverAtOnceWhereTheLifeIsTooShortForACall() {
    assertThat(ClaimTerms.keySafe(Duration.ofMinutes(1), LEASE, TIMEOUT)).isZero();
  }

  @Property
  void lastCallSentInTimeArrivesWhileTheProviderRemembers(
      @ForAll @LongRange(min = 1, max = 1L << 40) long lifeMs,
      @ForAll @LongRange(min = 1, max = 1L << 32) long leaseMs,
      @ForAll @LongRange(min = 1, max = 1L << 32) long timeoutMs) {
    Duration safe =
        ClaimTerms.keySafe(
            Duration.ofMillis(lifeMs), Duration.ofMillis(leaseMs), Duration.ofMillis(timeoutMs));

    assertThat(safe).isBetween(Duration.ZERO, Duration.ofMillis(lifeMs));
    assertThat(safe.isZero() || safe.toMillis() + leaseMs + timeoutMs <= lifeMs).isTrue();
  }
}
