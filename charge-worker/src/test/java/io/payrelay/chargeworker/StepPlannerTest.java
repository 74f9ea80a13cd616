package io.payrelay.chargeworker;

import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.payments.money.Money;
import io.payrelay.payments.store.Claim;
import io.payrelay.payments.store.OperationAction;
import io.payrelay.platform.lifecycle.Backoff;
import io.payrelay.providers.Capabilities;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.ProviderResult;
import io.payrelay.providers.RefundSupport;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;

class StepPlannerTest {

  private static final Duration LAG = Duration.ofSeconds(60);
  private static final Capabilities ASKABLE =
      new Capabilities(Duration.ofHours(24), true, LAG, true, RefundSupport.NONE);
  private static final Capabilities MUTE =
      new Capabilities(Duration.ofHours(24), false, Duration.ZERO, false, RefundSupport.NONE);
  private static final ProviderResult UNKNOWN = new ProviderResult.Unknown("status 500");
  private static final ProviderResult NOT_FOUND = new ProviderResult.NotFound();
  private static final Duration SAFE = Duration.ofHours(1);
  private static final Duration OVER = Duration.ofMillis(-1);

  private final StepPlanner planner =
      new StepPlanner(
          new QuerySchedule(
              List.of(Duration.ofSeconds(1), Duration.ofSeconds(4)),
              Duration.ofMinutes(10),
              new Random(1)),
          new Backoff(Duration.ofMillis(500), Duration.ofSeconds(60), new Random(1)),
          Duration.ofHours(2));

  private static Claim claim(
      OperationAction action, Duration keyLeft, Duration resolveLeft, Duration sinceCall) {
    return claim(action, 1, keyLeft, resolveLeft, sinceCall);
  }

  private static Claim claim(
      OperationAction action,
      int calls,
      Duration keyLeft,
      Duration resolveLeft,
      Duration sinceCall) {
    boolean call = action == OperationAction.CALL;
    return new Claim(
        1,
        1,
        1,
        action,
        "payment_1",
        "simulator",
        Instant.EPOCH,
        "key",
        new byte[0],
        null,
        calls,
        call ? 0 : 1,
        Duration.ofSeconds(90),
        keyLeft,
        resolveLeft,
        sinceCall,
        true);
  }

  private static Claim call() {
    return claim(OperationAction.CALL, SAFE, SAFE, null);
  }

  private static Claim query(Duration keyLeft, Duration sinceCall) {
    return claim(OperationAction.QUERY, keyLeft, SAFE, sinceCall);
  }

  @Test
  void asksAfterAnUnknownCall() {
    NextStep step = planner.after(call(), UNKNOWN, false, ASKABLE);

    assertThat(step.action()).isEqualTo(OperationAction.QUERY);
    assertThat(step.delay()).isBetween(Duration.ofMillis(500), Duration.ofSeconds(1));
  }

  @Test
  void callsAgainWithTheSameKeyWhereNobodyCanBeAsked() {
    assertThat(planner.after(call(), UNKNOWN, false, MUTE).action())
        .isEqualTo(OperationAction.CALL);
    assertThat(planner.after(claim(OperationAction.CALL, OVER, SAFE, null), UNKNOWN, false, MUTE))
        .isEqualTo(NextStep.UNRESOLVED);
  }

  @Test
  void asksAgainWhileTheChargeMayBeMissingFromQueries() {
    NextStep step = planner.after(query(SAFE, Duration.ofSeconds(59)), NOT_FOUND, false, ASKABLE);

    assertThat(step.action()).isEqualTo(OperationAction.QUERY);
    assertThat(step.delay()).isLessThanOrEqualTo(Duration.ofMillis(1_010));
  }

  @Test
  void callsAgainWhenItIsSurelyNotThereAndTheKeyIsSafe() {
    assertThat(planner.after(query(SAFE, LAG), NOT_FOUND, false, ASKABLE))
        .isEqualTo(NextStep.of(OperationAction.CALL, Duration.ZERO));
  }

  @Test
  void leavesItToAPersonWhenItIsNotThereAndTheKeyIsNotSafe() {
    assertThat(planner.after(query(OVER, LAG), NOT_FOUND, false, ASKABLE))
        .isEqualTo(NextStep.UNRESOLVED);
  }

  @Test
  void callsForTheFirstTimeWhenItIsNotThereWhateverTheKeysLife() {
    Claim asked = claim(OperationAction.QUERY, 0, Duration.ZERO, SAFE, null);

    assertThat(planner.after(asked, NOT_FOUND, false, ASKABLE))
        .isEqualTo(NextStep.of(OperationAction.CALL, Duration.ZERO));
  }

  @Test
  void leavesItToAPersonWhereNobodyCanBeAskedAboutACallThatIsNotOurs() {
    Claim asked = claim(OperationAction.QUERY, 0, SAFE, SAFE, null);

    assertThat(planner.after(asked, UNKNOWN, false, MUTE)).isEqualTo(NextStep.UNRESOLVED);
  }

  @Test
  void waitsAtLeastAsLongAsTheProviderAsksFor() {
    NextStep step =
        planner.after(
            call(),
            new ProviderResult.NotProcessed("rate limited", Duration.ofSeconds(7)),
            false,
            ASKABLE);

    assertThat(step.action()).isEqualTo(OperationAction.CALL);
    assertThat(step.delay()).isBetween(Duration.ofSeconds(7), Duration.ofMillis(7_500));
  }

  @Test
  void sendsAgainWhatWasReturnedUnsentEvenPastTheHorizon() {
    NextStep step =
        planner.after(
            claim(OperationAction.CALL, SAFE, OVER, null),
            new ProviderResult.NotProcessed(PaymentProvider.RETURNED_UNSENT, null),
            false,
            ASKABLE);

    assertThat(step.action()).isEqualTo(OperationAction.CALL);
  }

  @Test
  void stopsAtTheHorizonAndWhenSettled() {
    Claim late = claim(OperationAction.QUERY, SAFE, OVER, LAG);

    assertThat(planner.after(late, UNKNOWN, false, ASKABLE)).isEqualTo(NextStep.UNRESOLVED);
    assertThat(planner.after(late, UNKNOWN, true, ASKABLE)).isEqualTo(NextStep.CLOSE);
  }

  @Test
  void cancelsWhatIsPendingForTooLong() {
    ProviderResult pending = new ProviderResult.Pending("ch_1", new Money(1, "USD"), null);

    assertThat(planner.after(query(SAFE, Duration.ofHours(1)), pending, false, ASKABLE).action())
        .isEqualTo(OperationAction.QUERY);
    assertThat(planner.after(query(SAFE, Duration.ofHours(3)), pending, false, ASKABLE).action())
        .isEqualTo(OperationAction.CANCEL);
  }

  @Test
  void doesNotBelieveARefusalWithoutAChargeAfterADoubtfulCall() {
    ProviderResult refused = new ProviderResult.Declined("parameter_invalid", null, null);
    ProviderResult declined = new ProviderResult.Declined("no_money", "ch_1", null);

    assertThat(StepPlanner.believed(call(), refused)).isInstanceOf(ProviderResult.Unknown.class);
    assertThat(StepPlanner.believed(call(), declined)).isSameAs(declined);
    assertThat(StepPlanner.believed(query(SAFE, LAG), refused)).isSameAs(refused);
  }
}
