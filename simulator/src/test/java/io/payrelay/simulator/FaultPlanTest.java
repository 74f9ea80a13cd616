package io.payrelay.simulator;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.EnumMap;
import java.util.Map;
import java.util.stream.IntStream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.AlphaChars;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.StringLength;
import org.junit.jupiter.api.Test;

class FaultPlanTest {
  private static final int IDS = 20_000;

  @Property
  void givesTheSamePlanForTheSameSeed(
      @ForAll long seed,
      @ForAll FaultProfile profile,
      @ForAll @AlphaChars @StringLength(min = 1, max = 32) String id,
      @ForAll @IntRange(min = 1, max = 20) int number) {
    FaultPlan one = new FaultPlan(seed, profile);
    FaultPlan other = new FaultPlan(seed, profile);

    assertThat(one.call(id, number)).isEqualTo(other.call(id, number));
    assertThat(one.outcome(id, number)).isEqualTo(other.outcome(id, number));
    assertThat(one.query(id, number)).isEqualTo(other.query(id, number));
    assertThat(one.webhook(id, number)).isEqualTo(other.webhook(id, number));
  }

  @Property
  void leavesCallsAndQueriesInPeaceAfterAFew(
      @ForAll long seed,
      @ForAll FaultProfile profile,
      @ForAll @StringLength(min = 1, max = 32) String id,
      @ForAll @IntRange(min = 1, max = 1000) int extra) {
    FaultPlan plan = new FaultPlan(seed, profile);
    int number = profile.faultyCalls() + extra;

    assertThat(plan.call(id, number)).isEqualTo(Fault.NONE);
    assertThat(plan.query(id, number)).isEqualTo(QueryFault.NONE);
  }

  @Property
  void doesNothingInProfileNone(
      @ForAll long seed,
      @ForAll @StringLength(min = 1, max = 32) String id,
      @ForAll @IntRange(min = 1, max = 20) int number) {
    FaultPlan plan = new FaultPlan(seed, FaultProfile.NONE);

    assertThat(plan.call(id, number)).isEqualTo(Fault.NONE);
    assertThat(plan.outcome(id, number)).isEqualTo(Outcome.SUCCEEDED);
    assertThat(plan.query(id, number)).isEqualTo(QueryFault.NONE);
    assertThat(plan.webhook(id, number)).isEqualTo(WebhookFault.NONE);
  }

  /** A seed in a bug report has to mean the same in every JVM and in later versions. */
  @Test
  void keepsThePlanOfAKnownSeed() {
    FaultPlan plan = new FaultPlan(7, FaultProfile.STORM);

    assertThat(IntStream.rangeClosed(1, 6).mapToObj(i -> plan.call("payment_" + i, 1)))
        .containsExactly(
            Fault.NOT_PROCESSED,
            Fault.RESET_AFTER,
            Fault.NONE,
            Fault.RESET_AFTER,
            Fault.ERROR_500_AFTER,
            Fault.RATE_LIMITED);
  }

  @Test
  void strikesAboutHalfOfTheFirstCallsInAStorm() {
    Map<Fault, Integer> counts = firstCalls(new FaultPlan(42, FaultProfile.STORM));

    assertThat(counts.get(Fault.NONE)).isBetween(IDS * 47 / 100, IDS * 53 / 100);
    FaultProfile.STORM
        .calls()
        .forEach(
            (fault, basisPoints) ->
                assertThat(counts.get(fault))
                    .as(fault.name())
                    .isBetween(
                        IDS * (basisPoints - 80) / 10_000, IDS * (basisPoints + 80) / 10_000));
  }

  @Test
  void drawsOtherFaultsForOtherSeedsAndOtherCalls() {
    FaultPlan one = new FaultPlan(1, FaultProfile.STORM);
    FaultPlan two = new FaultPlan(2, FaultProfile.STORM);

    long sameForOtherSeed = ids().filter(i -> one.call(id(i), 1) == two.call(id(i), 1)).count();
    long sameForOtherCall = ids().filter(i -> one.call(id(i), 1) == one.call(id(i), 2)).count();

    // Two independent draws agree in 0.5^2 + 9 * 0.055^2 = 28 % of the cases.
    assertThat(sameForOtherSeed).isBetween(IDS * 25L / 100, IDS * 31L / 100);
    assertThat(sameForOtherCall).isBetween(IDS * 25L / 100, IDS * 31L / 100);
  }

  @Test
  void chargesNoWrongAmountInAnyProfile() {
    for (FaultProfile profile : FaultProfile.values()) {
      assertThat(profile.calls()).doesNotContainKey(Fault.WRONG_AMOUNT);
    }
  }

  private static Map<Fault, Integer> firstCalls(FaultPlan plan) {
    Map<Fault, Integer> counts = new EnumMap<>(Fault.class);
    ids().forEach(i -> counts.merge(plan.call(id(i), 1), 1, Integer::sum));
    return counts;
  }

  private static IntStream ids() {
    return IntStream.range(0, IDS);
  }

  private static String id(int i) {
    return "payment_" + i;
  }

  @Test
  void losesNoWebhookWhereEachHasToArrive() {
    FaultPlan losing = new FaultPlan(7, FaultProfile.STORM);
    FaultPlan arriving = new FaultPlan(7, FaultProfile.STORM, true);
    int lost = 0;
    for (int i = 0; i < 1_000; i++) {
      WebhookFault fault = losing.webhook("pay_" + i, 1);
      lost += fault == WebhookFault.LOST ? 1 : 0;
      assertThat(arriving.webhook("pay_" + i, 1))
          .isEqualTo(fault == WebhookFault.LOST ? WebhookFault.LATE : fault);
    }
    assertThat(lost).isPositive();
  }
}
