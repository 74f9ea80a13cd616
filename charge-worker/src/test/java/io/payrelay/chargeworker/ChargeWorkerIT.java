package io.payrelay.chargeworker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.payrelay.payments.lifecycle.PaymentStatus;
import io.payrelay.payments.store.OperationStore;
import io.payrelay.providers.generic.GenericProvider;
import io.payrelay.simulator.Fault;
import io.payrelay.simulator.FaultProfile;
import io.payrelay.simulator.ProviderSimulator;
import io.payrelay.simulator.SimulatedCharge;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.MemberDescription;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Charges through PostgreSQL, Kafka and a provider that are real. */
@Timeout(120)
class ChargeWorkerIT {

  private static final Map<String, String> FAST =
      Map.of(
          "CALL_TIMEOUT_MS", "400",
          "LEASE_MS", "1500",
          "QUERY_DELAYS_MS", "50,100,200",
          "QUERY_DELAY_CAP_MS", "400",
          "RETRY_FIRST_MS", "50",
          "RETRY_CAP_MS", "400",
          "BREAKER_CALLS_MIN", "5000");

  private ChargeFixture fixture;

  @BeforeEach
  void open() throws Exception {
    fixture = new ChargeFixture();
  }

  @AfterEach
  void close() throws Exception {
    fixture.close();
  }

  @Test
  void chargesAPaymentOnce() throws Exception {
    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig());
    fixture.worker(fixture.provider(simulator), Map.of());

    String id = fixture.pay("pm_card");

    awaitStatus(id, PaymentStatus.SUCCEEDED);
    assertThat(fixture.attempts(id)).containsExactly("CALL SUCCEEDED");
    assertThat(fixture.nextAction(id)).isEqualTo("none");
    assertThat(ChargeFixture.charges(simulator, id))
        .singleElement()
        .extracting(SimulatedCharge::id, SimulatedCharge::idempotencyKey)
        .containsExactly(
            fixture.payment(id).providerTransactionId(), Acceptance.idempotencyKey(id));
  }

  /** The end stays; what the provider says of it is kept with the attempt, for a person. */
  @Test
  void asksOnceAboutAnEndThatSomebodyContradicts() throws Exception {
    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig());
    fixture.worker(fixture.provider(simulator), FAST);
    String id = fixture.pay("pm_card");
    awaitStatus(id, PaymentStatus.SUCCEEDED);
    await().until(() -> fixture.nextAction(id).equals("none"));

    fixture
        .workerJdbi()
        .useTransaction(tx -> new OperationStore().queryThoughSettled(tx, List.of(id)));

    await()
        .untilAsserted(
            () ->
                assertThat(fixture.attempts(id))
                    .containsExactly("CALL SUCCEEDED", "QUERY SUCCEEDED"));
    assertThat(fixture.nextAction(id)).isEqualTo("none");
    assertThat(fixture.payment(id).version()).isEqualTo(3);
    assertThat(fixture.exceptions(id)).isEmpty();
    assertThat(ChargeFixture.charges(simulator, id)).hasSize(1);
  }

  // Source: docs.stripe.com/api/idempotent_requests (a cached 500), medusa #16398.
  @Test
  void followsWhatTheProviderDecides() throws Exception {
    ProviderSimulator simulator =
        fixture.simulator(fixture.simulatorConfig().pendingSettleDelay(Duration.ofMillis(300)));
    fixture.worker(fixture.provider(simulator), FAST);

    String declined = fixture.pay("pm_decline");
    String pending = fixture.pay("pm_pending");
    String pendingFailed = fixture.pay("pm_pending_fail");
    String cached500 = fixture.pay("pm_500_after");
    String unavailable = fixture.pay("pm_503");

    awaitStatus(declined, PaymentStatus.FAILED);
    assertThat(fixture.payment(declined).failureCode()).isEqualTo("insufficient_funds");
    awaitStatus(pending, PaymentStatus.SUCCEEDED);
    awaitStatus(pendingFailed, PaymentStatus.FAILED);
    awaitStatus(cached500, PaymentStatus.SUCCEEDED);
    assertThat(fixture.attempts(cached500)).containsExactly("CALL UNKNOWN", "QUERY SUCCEEDED");
    awaitStatus(unavailable, PaymentStatus.SUCCEEDED);
    assertThat(fixture.attempts(unavailable))
        .containsExactly("CALL NOT_PROCESSED", "CALL NOT_PROCESSED", "CALL SUCCEEDED");
  }

  @Test
  void resolvesEveryPaymentOfAStormAndChargesNobodyTwice() throws Exception {
    ProviderSimulator simulator =
        fixture.simulator(
            fixture
                .simulatorConfig()
                .profile(FaultProfile.STORM)
                .seed(20_261_129)
                .slowDelay(Duration.ofMillis(600))
                .pendingSettleDelay(Duration.ofMillis(300)));
    fixture.worker(
        fixture.provider(simulator.baseUrl(), Duration.ofHours(24), Duration.ofMillis(300)), FAST);

    List<String> ids = fixture.payAll(100, "pm_card");

    // Each 429 of the storm holds everything for the second that it asks for.
    await()
        .atMost(Duration.ofSeconds(90))
        .until(
            () ->
                fixture.count(ids, PaymentStatus.SUCCEEDED)
                        + fixture.count(ids, PaymentStatus.FAILED)
                    == 100);
    assertThat(simulator.stats().idsChargedTwice()).isZero();
    assertThat(simulator.charges()).hasSize(100);
    for (SimulatedCharge charge : simulator.charges()) {
      assertThat(
              fixture.payment(charge.merchantTransactionId()).status() == PaymentStatus.SUCCEEDED)
          .as(charge + " " + fixture.attempts(charge.merchantTransactionId()))
          .isEqualTo(charge.moneyMoved());
    }
    assertThat(simulator.stats().faults().get(Fault.TIMEOUT_AFTER)).isPositive();
  }

  // Source: furthemore/APIS PR 193, woocommerce-gateway-stripe #2339.
  @Test
  void chargesOnceWhereTwoWorkersGetTheSameEventAgainAndAgain() throws Exception {
    ProviderSimulator simulator =
        fixture.simulator(fixture.simulatorConfig().latency(Duration.ofMillis(200)));
    GenericProvider provider = fixture.provider(simulator);
    fixture.worker(provider, Map.of());
    fixture.worker(provider, Map.of());
    String id = ChargeFixture.newId();
    fixture.insert(id, "pm_card");

    for (int partition = 0; partition < 12; partition++) {
      fixture.send(id, 1200, partition);
    }

    awaitStatus(id, PaymentStatus.SUCCEEDED);
    fixture.send(id);
    String last = fixture.pay("pm_card");
    awaitStatus(last, PaymentStatus.SUCCEEDED);
    assertThat(ChargeFixture.charges(simulator, id))
        .singleElement()
        .extracting(SimulatedCharge::calls)
        .isEqualTo(1);
    assertThat(fixture.attempts(id)).containsExactly("CALL SUCCEEDED");
  }

  // Source: woocommerce-gateway-stripe #489, #2477 (timeout, restart, redelivery).
  @Test
  void convergesAfterDyingBetweenAnswerAndWrite() throws Exception {
    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig());
    GenericProvider provider = fixture.provider(simulator);
    AtomicBoolean died = new AtomicBoolean();
    ChargeFaults faults =
        point -> {
          if (point == ChargeFaults.Point.AFTER_ANSWER) {
            died.set(true);
            throw new IllegalStateException("died here");
          }
        };
    ChargeWorker dying =
        fixture.worker(
            provider,
            Map.of("CALL_TIMEOUT_MS", "400", "LEASE_MS", "1500", "STOP_LIMIT_MS", "0"),
            faults,
            Map.of());
    String id = fixture.pay("pm_card");
    await().untilTrue(died);
    dying.close();
    assertThat(fixture.payment(id).status()).isEqualTo(PaymentStatus.CREATED);

    fixture.worker(provider, FAST);

    awaitStatus(id, PaymentStatus.SUCCEEDED);
    assertThat(fixture.attempts(id)).containsExactly("CALL ABANDONED", "CALL SUCCEEDED");
    assertThat(ChargeFixture.charges(simulator, id)).hasSize(1);
  }

  @Test
  void convergesAfterDyingBetweenClaimAndCall() throws Exception {
    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig());
    GenericProvider provider = fixture.provider(simulator);
    ChargeFaults faults =
        point -> {
          if (point == ChargeFaults.Point.AFTER_CLAIM) {
            throw new IllegalStateException("died here");
          }
        };
    ChargeWorker dying =
        fixture.worker(
            provider,
            Map.of("CALL_TIMEOUT_MS", "400", "LEASE_MS", "1500", "STOP_LIMIT_MS", "0"),
            faults,
            Map.of());
    String id = fixture.pay("pm_card");
    await().until(dying::health, health -> health.equals("dispatcher has stopped"));
    dying.close();
    assertThat(simulator.charges()).isEmpty();

    fixture.worker(provider, FAST);

    awaitStatus(id, PaymentStatus.SUCCEEDED);
    assertThat(fixture.attempts(id)).containsExactly("CALL ABANDONED", "CALL SUCCEEDED");
    assertThat(ChargeFixture.charges(simulator, id)).hasSize(1);
  }

  // Source: spring-kafka #2266, confluent-kafka-python #552.
  @Test
  void leavesTheGroupAloneWhileAProviderIsSlow() throws Exception {
    ProviderSimulator simulator =
        fixture.simulator(fixture.simulatorConfig().latency(Duration.ofMillis(3_500)));
    fixture.worker(
        fixture.provider(simulator),
        Map.of("CALL_TIMEOUT_MS", "10000", "LEASE_MS", "20000"),
        ChargeFaults.NONE,
        Map.of("max.poll.interval.ms", "1000"));
    String first = fixture.pay("pm_card");
    await().until(() -> fixture.attempts(first), attempts -> attempts.size() == 1);
    List<String> before = members();

    List<String> ids = fixture.payAll(9, "pm_card");
    soon(() -> assertThat(fixture.count(ids, PaymentStatus.SUCCEEDED)).isEqualTo(9));
    awaitStatus(first, PaymentStatus.SUCCEEDED);

    assertThat(members()).isEqualTo(before).hasSize(1);
    assertThat(simulator.stats().chargeCalls()).isEqualTo(10);
  }

  private static void soon(Runnable assertion) {
    await().atMost(Duration.ofSeconds(20)).untilAsserted(assertion::run);
  }

  private void awaitStatus(String id, PaymentStatus status) {
    soon(
        () ->
            assertThat(fixture.payment(id).status())
                .as(() -> id + " " + fixture.attempts(id) + " " + fixture.nextAction(id))
                .isEqualTo(status));
  }

  private List<String> members() throws Exception {
    try (Admin admin = Admin.create(fixture.kafka().clientProperties("test-admin"))) {
      return admin
          .describeConsumerGroups(List.of(ChargeFixture.GROUP))
          .describedGroups()
          .get(ChargeFixture.GROUP)
          .get()
          .members()
          .stream()
          .map(MemberDescription::consumerId)
          .sorted()
          .toList();
    }
  }
}
