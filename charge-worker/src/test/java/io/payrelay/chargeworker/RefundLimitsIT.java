package io.payrelay.chargeworker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.payrelay.payments.lifecycle.PaymentStatus;
import io.payrelay.payments.lifecycle.RefundStatus;
import io.payrelay.payments.money.Money;
import io.payrelay.providers.Prepared;
import io.payrelay.providers.RefundCall;
import io.payrelay.providers.RefundOrder;
import io.payrelay.providers.generic.GenericProvider;
import io.payrelay.simulator.Fault;
import io.payrelay.simulator.ProviderSimulator;
import io.payrelay.simulator.QueryFault;
import io.payrelay.simulator.SimulatedRefund;
import java.time.Duration;
import java.util.Collections;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is not given back again, or left to a person: the twins of the charges' tests. */
@Timeout(60)
class RefundLimitsIT {

  private static final Map<String, String> SHORT_LIVED =
      Map.of(
          "CALL_TIMEOUT_MS", "150",
          "LEASE_MS", "400",
          "QUERY_DELAYS_MS", "100",
          "QUERY_DELAY_CAP_MS", "150",
          "RETRY_FIRST_MS", "20",
          "BREAKER_CALLS_MIN", "5000");

  private ChargeFixture fixture;

  @BeforeEach
  void open() throws Exception {
    fixture = new ChargeFixture();
  }

  @AfterEach
  void close() {
    fixture.close();
  }

  // Source: commcare-hq PR 33509 (unknown for longer than the key lives).
  @Test
  void doesNotSendTheKeyOfARefundThatTheProviderMayHaveForgotten() throws Exception {
    // It is safe for 1.6 - (0.4 + 0.15) s after the first call.
    Duration keyLife = Duration.ofMillis(1_600);
    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig().keyLife(keyLife));
    fixture.worker(fixture.provider(simulator.baseUrl(), keyLife, Duration.ZERO), SHORT_LIVED);
    String payment = paid();
    String id = ChargeFixture.newId();
    simulator.script(id, Fault.RESET_BEFORE);
    simulator.scriptQueries(
        id, Collections.nCopies(14, QueryFault.UNAVAILABLE).toArray(QueryFault[]::new));

    fixture.insertRefund(id, payment, 500);
    fixture.sendRefund(id, payment, 500, null);

    awaitException(payment, id, "UNRESOLVED");
    assertThat(fixture.refund(id).status()).isEqualTo(RefundStatus.UNKNOWN);
    assertThat(fixture.refundAttempts(id))
        .endsWith("QUERY NOT_FOUND")
        .filteredOn(one -> one.startsWith("CALL"))
        .hasSize(1);
    assertThat(simulator.stats().refundCalls()).isEqualTo(1);
    assertThat(simulator.refunds()).isEmpty();
  }

  // Source: stripe-java #389, canvas PR 243 (same key, other body).
  @Test
  void leavesARefundWhoseKeyIsRefusedToAPersonAndMakesNoNewKey() throws Exception {
    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig());
    GenericProvider provider = fixture.provider(simulator);
    // Time enough for an answer: there must be one call only.
    fixture.worker(
        provider,
        Map.of("CALL_TIMEOUT_MS", "2000", "LEASE_MS", "5000", "QUERY_DELAYS_MS", "50,100"));
    String payment = paid();
    String id = ChargeFixture.newId();
    useKeyFor(provider, payment, id);

    fixture.insertRefund(id, payment, 500);
    fixture.sendRefund(id, payment, 500, null);

    awaitException(payment, id, "KEY_REFUSED");
    fixture.sendRefund(id, payment, 500, null);
    String next = ChargeFixture.newId();
    fixture.insertRefund(next, payment, 100);
    fixture.sendRefund(next, payment, 100, null);
    await()
        .atMost(Duration.ofSeconds(20))
        .until(() -> fixture.refund(next).status() == RefundStatus.SUCCEEDED);
    assertThat(fixture.refund(id).status()).isEqualTo(RefundStatus.UNKNOWN);
    assertThat(fixture.refundAttempts(id)).filteredOn(one -> one.startsWith("CALL")).hasSize(1);
    assertThat(simulator.refunds())
        .extracting(SimulatedRefund::merchantRefundId)
        .doesNotContain(id);
  }

  /** Somebody has sent the key of that refund with another refund's body. */
  private void useKeyFor(GenericProvider provider, String payment, String id) {
    String transaction = fixture.payment(payment).providerTransactionId();
    RefundOrder other =
        new RefundOrder("someone_else", payment, transaction, new Money(50, "USD"), null);
    provider
        .refund(
            new RefundCall(
                "someone_else",
                payment,
                transaction,
                RefundAcceptance.idempotencyKey(id),
                ((Prepared.Ready) provider.prepareRefund(other)).body(),
                System.nanoTime() + Duration.ofSeconds(10).toNanos(),
                Duration.ofSeconds(5)))
        .join();
  }

  /** A captured payment, by a worker that is at work already. */
  private String paid() throws Exception {
    String id = fixture.pay("pm_card");
    await()
        .atMost(Duration.ofSeconds(20))
        .until(() -> fixture.payment(id).status() == PaymentStatus.SUCCEEDED);
    return id;
  }

  private void awaitException(String payment, String refund, String kind) {
    await()
        .atMost(Duration.ofSeconds(20))
        .untilAsserted(
            () ->
                assertThat(fixture.exceptions(payment))
                    .as(() -> refund + " " + fixture.refundAttempts(refund))
                    .containsExactly(kind));
  }
}
