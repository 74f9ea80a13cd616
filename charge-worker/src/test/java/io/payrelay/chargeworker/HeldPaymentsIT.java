package io.payrelay.chargeworker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.payrelay.payments.lifecycle.PaymentStatus;
import io.payrelay.payments.lifecycle.RefundStatus;
import io.payrelay.providers.generic.GenericProvider;
import io.payrelay.simulator.ProviderSimulator;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jdbi.v3.core.Handle;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Transactions of others that stay open and hold payments: nobody but these payments waits. */
@Timeout(120)
class HeldPaymentsIT {

  private static final Map<String, String> FAST =
      Map.of(
          "CALL_TIMEOUT_MS", "400",
          "LEASE_MS", "1200",
          "IN_FLIGHT_MAX", "8",
          "QUERY_DELAYS_MS", "50,100",
          "STOP_LIMIT_MS", "0",
          "BREAKER_CALLS_MIN", "5000");

  private ChargeFixture fixture;
  private ProviderSimulator simulator;
  private GenericProvider provider;

  @BeforeEach
  void open() throws Exception {
    fixture = new ChargeFixture();
    simulator = fixture.simulator(fixture.simulatorConfig());
    provider = fixture.provider(simulator);
  }

  @AfterEach
  void close() {
    fixture.close();
  }

  @Test
  void keepsTheAnswersOfHeldPaymentsAndWritesAllOthers() throws Exception {
    ChargeWorker worker = fixture.worker(provider, FAST);
    List<String> held = paid(6);
    List<String> refunds = new ArrayList<>();
    for (String payment : held) {
      refunds.add(insertRefund(payment));
    }
    String free = paid(1).get(0);
    String other = insertRefund(free);
    try (Handle upstream = fixture.openAsOwner()) {
      upstream.begin();
      for (String payment : held.stream().sorted().toList()) {
        ask(upstream, ChargeFixture.newId(), payment);
      }
      for (int i = 0; i < held.size(); i++) {
        fixture.sendRefund(refunds.get(i), held.get(i), 100, null);
      }
      soon(() -> assertThat(refunds).allMatch(id -> !fixture.refundAttempts(id).isEmpty()));

      // As many are kept as half of what may be in flight; the calls for the others go on.
      fixture.sendRefund(other, free, 100, null);
      awaitStatus(other, RefundStatus.SUCCEEDED);
      paid(1);
      // For longer than a lease: those that are kept renew it, and nobody is called again.
      await()
          .during(Duration.ofSeconds(2))
          .atMost(Duration.ofSeconds(10))
          .until(
              () ->
                  refunds.stream().filter(id -> fixture.refundAttempts(id).size() == 1).count()
                      >= 4);
      assertThat(refunds).allMatch(id -> fixture.refund(id).status() == RefundStatus.REQUESTED);
      upstream.commit();
    }

    refunds.forEach(id -> awaitStatus(id, RefundStatus.SUCCEEDED));
    assertThat(simulator.stats().idsRefundedTwice()).isZero();
    assertThat(simulator.refunds()).hasSize(7);
    soon(() -> assertThat(worker.inFlight()).isZero());
    assertThat(worker.health()).isEqualTo("ok");
  }

  @Test
  void losesNoAnswerWhereTheProcessStopsMeanwhile() throws Exception {
    ChargeWorker worker = fixture.worker(provider, FAST);
    String payment = paid(1).get(0);
    String refund = insertRefund(payment);
    try (Handle upstream = fixture.openAsOwner()) {
      upstream.begin();
      ask(upstream, ChargeFixture.newId(), payment);
      fixture.sendRefund(refund, payment, 100, null);
      soon(() -> assertThat(simulator.refunds()).hasSize(1));
      worker.close();
      assertThat(fixture.refundAttempts(refund)).containsExactly("CALL -");
      upstream.rollback();
    }

    fixture.worker(provider, FAST);

    awaitStatus(refund, RefundStatus.SUCCEEDED);
    assertThat(fixture.refundAttempts(refund)).startsWith("CALL ABANDONED");
    assertThat(simulator.refunds()).hasSize(1);
  }

  @Test
  void acceptsAllOthersWhereAPaymentCannotBeAccepted() throws Exception {
    Map<String, String> sweeping = new HashMap<>(FAST);
    sweeping.put("SWEEP_AGE_MS", "300");
    sweeping.put("SWEEP_INTERVAL_MS", "100");
    String held = ChargeFixture.newId();
    String swept = ChargeFixture.newId();
    fixture.insert(held, "pm_card");
    fixture.insert(swept, "pm_card");
    try (Handle frozen = fixture.openAsOwner()) {
      frozen.begin();
      // As one of our own transactions does whose process is stopped.
      frozen.execute(
          "SELECT 1 FROM payrelay.payment WHERE payment_id = ANY (?) FOR UPDATE",
          (Object) new String[] {held});
      fixture.worker(provider, sweeping);
      fixture.send(held, 1200, 7);
      String behind = ChargeFixture.newId();
      fixture.insert(behind, "pm_card");
      fixture.send(behind, 1200, 7);

      awaitPaid(behind);
      awaitPaid(swept);
      assertThat(fixture.nextAction(held)).isEqualTo("-");
      frozen.commit();
    }

    awaitPaid(held);
    assertThat(fixture.exceptions(held)).isEmpty();
    assertThat(ChargeFixture.charges(simulator, held)).hasSize(1);
  }

  private List<String> paid(int count) throws Exception {
    List<String> ids = fixture.payAll(count, "pm_card");
    soon(() -> assertThat(fixture.count(ids, PaymentStatus.SUCCEEDED)).isEqualTo(count));
    return ids;
  }

  private static void ask(Handle upstream, String refund, String payment) {
    upstream.execute("SELECT payrelay.request_refund(?, ?, 100, 'USD')", refund, payment);
  }

  private String insertRefund(String payment) {
    String id = ChargeFixture.newId();
    fixture.insertRefund(id, payment, 100);
    return id;
  }

  private void awaitStatus(String refund, RefundStatus status) {
    soon(
        () ->
            assertThat(fixture.refund(refund).status())
                .as(() -> refund + " " + fixture.refundAttempts(refund))
                .isEqualTo(status));
  }

  private void awaitPaid(String id) {
    soon(
        () ->
            assertThat(fixture.payment(id).status())
                .as(() -> id + " " + fixture.attempts(id))
                .isEqualTo(PaymentStatus.SUCCEEDED));
  }

  private static void soon(Runnable assertion) {
    await().atMost(Duration.ofSeconds(30)).untilAsserted(assertion::run);
  }
}
