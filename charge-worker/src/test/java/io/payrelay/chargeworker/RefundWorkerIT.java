package io.payrelay.chargeworker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;
import static org.awaitility.Awaitility.await;

import io.payrelay.payments.lifecycle.Payment;
import io.payrelay.payments.lifecycle.PaymentStatus;
import io.payrelay.payments.lifecycle.Refund;
import io.payrelay.payments.lifecycle.RefundStatus;
import io.payrelay.payments.store.OperationAction;
import io.payrelay.payments.store.RefundOperationStore;
import io.payrelay.payments.store.RefundOperationStore.NewRefundOperation;
import io.payrelay.providers.Capabilities;
import io.payrelay.providers.ChargeCall;
import io.payrelay.providers.ChargeRef;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.Prepared;
import io.payrelay.providers.ProviderAnswer;
import io.payrelay.providers.RefundCall;
import io.payrelay.providers.RefundOrder;
import io.payrelay.providers.RefundRef;
import io.payrelay.providers.RefundSupport;
import io.payrelay.providers.generic.GenericProvider;
import io.payrelay.simulator.Fault;
import io.payrelay.simulator.FaultProfile;
import io.payrelay.simulator.ProviderSimulator;
import io.payrelay.simulator.SimulatedRefund;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Refunds through the worker; the simulator's own books are the oracle. */
@Timeout(120)
class RefundWorkerIT {

  private static final Map<String, String> FAST =
      Map.of(
          "CALL_TIMEOUT_MS", "400",
          "LEASE_MS", "1500",
          "QUERY_DELAYS_MS", "50,100,200",
          "QUERY_DELAY_CAP_MS", "400",
          "RETRY_FIRST_MS", "50",
          "RETRY_CAP_MS", "400",
          "SWEEP_AGE_MS", "500",
          "SWEEP_INTERVAL_MS", "200",
          "BREAKER_CALLS_MIN", "5000");

  private ChargeFixture fixture;
  private ProviderSimulator simulator;
  private GenericProvider provider;

  @BeforeEach
  void open() throws Exception {
    fixture = new ChargeFixture();
    simulator =
        fixture.simulator(
            fixture
                .simulatorConfig()
                .slowDelay(Duration.ofMillis(600))
                .pendingSettleDelay(Duration.ofMillis(300)));
    provider = fixture.provider(simulator.baseUrl(), Duration.ofHours(24), Duration.ofMillis(300));
  }

  @AfterEach
  void close() {
    fixture.close();
  }

  /** A captured payment. */
  private String paid() throws Exception {
    String id = fixture.pay("pm_card");
    soon(() -> assertThat(fixture.payment(id).status()).isEqualTo(PaymentStatus.SUCCEEDED));
    return id;
  }

  private String ask(String payment, long amountMinor, Fault... faults) throws Exception {
    String id = ChargeFixture.newId();
    simulator.script(id, faults);
    fixture.insertRefund(id, payment, amountMinor);
    fixture.sendRefund(id, payment, amountMinor, null);
    return id;
  }

  private List<SimulatedRefund> refunds(String id) {
    return simulator.refunds().stream()
        .filter(refund -> refund.merchantRefundId().equals(id))
        .toList();
  }

  private long refundable(String payment) {
    return fixture
        .workerJdbi()
        .withHandle(
            handle ->
                handle
                    .createQuery("SELECT refundable_minor FROM payrelay.refundable(:id)")
                    .bind("id", payment)
                    .mapTo(Long.class)
                    .one());
  }

  private void awaitStatus(String id, RefundStatus status) {
    soon(
        () ->
            assertThat(fixture.refund(id).status())
                .as(() -> id + " " + fixture.refundAttempts(id))
                .isEqualTo(status));
  }

  private static void soon(Runnable assertion) {
    await().atMost(Duration.ofSeconds(30)).untilAsserted(assertion::run);
  }

  // Source: polarsource/polar #13770 (parts never exceed what was captured).
  @Test
  void givesBackAPartAndThenTheRest() throws Exception {
    fixture.worker(provider, Map.of());
    String payment = paid();

    String part = ask(payment, 500);
    awaitStatus(part, RefundStatus.SUCCEEDED);
    String rest = ask(payment, 700);
    awaitStatus(rest, RefundStatus.SUCCEEDED);

    assertThat(fixture.refundAttempts(part)).containsExactly("CALL SUCCEEDED");
    assertThat(refunds(part))
        .extracting(
            SimulatedRefund::id, SimulatedRefund::amountMinor, SimulatedRefund::idempotencyKey)
        .containsExactly(
            tuple(
                fixture.refund(part).providerRefundId(),
                500L,
                RefundAcceptance.idempotencyKey(part)));
    assertThat(refundable(payment)).isZero();
    assertThat(simulator.refunds()).hasSize(2);
    assertThat(fixture.exceptions(payment)).isEmpty();
    assertThat(fixture.payment(payment).status()).isEqualTo(PaymentStatus.SUCCEEDED);
  }

  // Source: medusa #16681, laravel-sisp PR 306 (a timeout of what was done, then another key).
  @Test
  void givesBackOnceWhateverHappensToTheAnswer() throws Exception {
    fixture.worker(provider, FAST);
    String payment = paid();
    Map<String, Fault> asked = new LinkedHashMap<>();
    for (Fault fault :
        List.of(
            Fault.RESET_BEFORE,
            Fault.NOT_PROCESSED,
            Fault.RESET_AFTER,
            Fault.TIMEOUT_AFTER,
            Fault.ERROR_500_AFTER,
            Fault.TRUNCATED_BODY,
            Fault.HTML_502_AFTER,
            Fault.SLOW,
            Fault.PENDING)) {
      asked.put(ask(payment, 100, fault), fault);
    }

    asked.keySet().forEach(id -> awaitStatus(id, RefundStatus.SUCCEEDED));
    asked.forEach(
        (id, fault) ->
            assertThat(refunds(id)).as("%s %s", fault, fixture.refundAttempts(id)).hasSize(1));
    assertThat(simulator.stats().idsRefundedTwice()).isZero();
    assertThat(refundable(payment)).isEqualTo(300);
    assertThat(fixture.exceptions(payment)).isEmpty();
  }

  @Test
  void followsWhatTheProviderDecides() throws Exception {
    fixture.worker(provider, FAST);
    String payment = paid();

    String declined = ask(payment, 100, Fault.DECLINE);
    String pendingFailed = ask(payment, 100, Fault.PENDING_THEN_FAILED);
    String wrong = ask(payment, 100, Fault.WRONG_AMOUNT);
    String returned = ask(payment, 100, Fault.SUCCEEDED_THEN_FAILED);

    awaitStatus(declined, RefundStatus.FAILED);
    assertThat(fixture.refund(declined).failureCode()).isEqualTo("account_closed");
    awaitStatus(pendingFailed, RefundStatus.FAILED);
    awaitStatus(wrong, RefundStatus.UNKNOWN);
    awaitStatus(returned, RefundStatus.SUCCEEDED);
    soon(() -> assertThat(refunds(returned).get(0).moneyReturned()).isFalse());
    // As a webhook does that reports the failure: the provider is asked again.
    fixture.workerJdbi().useTransaction(tx -> new RefundOperationStore().queryNow(tx, returned));
    awaitStatus(returned, RefundStatus.RETURNED);
    soon(
        () ->
            assertThat(fixture.exceptions(payment))
                .containsExactly("AMOUNT_MISMATCH", "REFUND_RETURNED"));
    // Of the wrong one both are held back: what left, and what may still leave.
    assertThat(refundable(payment)).isEqualTo(1200 - 101 - 100);
  }

  // Source: woocommerce-gateway-stripe #489 (restart, redelivery), furthemore/APIS PR 193.
  @Test
  void givesBackOnceWhereAWorkerDiesAndOffsetsAreReplayed() throws Exception {
    fixture.worker(provider, FAST).close();
    ChargeWorker charging = fixture.worker(provider, FAST);
    String payment = paid();
    charging.close();
    AtomicBoolean died = new AtomicBoolean();
    ChargeWorker dying =
        fixture.worker(
            provider,
            Map.of("CALL_TIMEOUT_MS", "400", "LEASE_MS", "1500", "STOP_LIMIT_MS", "0"),
            point -> {
              if (point == ChargeFaults.Point.AFTER_ANSWER) {
                died.set(true);
                throw new IllegalStateException("died here");
              }
            },
            Map.of());
    String id = ask(payment, 1200);
    await().untilTrue(died);
    dying.close();
    assertThat(fixture.refund(id).status()).isEqualTo(RefundStatus.REQUESTED);

    fixture.worker(provider, FAST);
    fixture.worker(provider, FAST);
    for (int partition = 0; partition < 12; partition++) {
      fixture.sendRefund(id, payment, 1200, partition);
    }

    awaitStatus(id, RefundStatus.SUCCEEDED);
    String again = fixture.pay("pm_card");
    soon(() -> assertThat(fixture.payment(again).status()).isEqualTo(PaymentStatus.SUCCEEDED));
    assertThat(fixture.refundAttempts(id)).containsExactly("CALL ABANDONED", "CALL SUCCEEDED");
    assertThat(refunds(id)).hasSize(1);
  }

  @Test
  void endsAsTheProvidersBooksDoAfterAStorm() throws Exception {
    ProviderSimulator storm =
        fixture.simulator(
            fixture
                .simulatorConfig()
                .profile(FaultProfile.STORM)
                .seed(20_261_130)
                .slowDelay(Duration.ofMillis(600))
                .pendingSettleDelay(Duration.ofMillis(300)));
    fixture.worker(
        fixture.provider(storm.baseUrl(), Duration.ofHours(24), Duration.ofMillis(300)), FAST);
    List<String> payments = fixture.payAll(20, "pm_card");
    soon(
        () ->
            assertThat(
                    fixture.count(payments, PaymentStatus.SUCCEEDED)
                        + fixture.count(payments, PaymentStatus.FAILED))
                .isEqualTo(20));
    List<String> ids = new ArrayList<>();
    for (String payment : payments) {
      if (fixture.payment(payment).status() == PaymentStatus.SUCCEEDED) {
        for (long amount : new long[] {400, 500, 300}) {
          String id = ChargeFixture.newId();
          fixture.insertRefund(id, payment, amount);
          fixture.sendRefund(id, payment, amount, null);
          ids.add(id);
        }
      }
    }

    soon(() -> assertThat(ids).allMatch(id -> fixture.refund(id).status().ended()));
    // Of those that fail later a webhook would tell: the provider is asked again.
    soon(
        () -> {
          List<String> differing = differences(storm, ids);
          fixture
              .workerJdbi()
              .useTransaction(
                  tx -> differing.forEach(id -> new RefundOperationStore().queryNow(tx, id)));
          assertThat(differing).isEmpty();
        });
    assertThat(ids).hasSizeGreaterThan(40);
    assertThat(storm.stats().idsRefundedTwice()).isZero();
    assertThat(booked()).isEqualTo(returned(storm));
  }

  /** What the provider says went back and the row does not, or the reverse. */
  private List<String> differences(ProviderSimulator storm, List<String> ids) {
    Map<String, Boolean> gone = new HashMap<>();
    storm.refunds().forEach(one -> gone.put(one.merchantRefundId(), one.moneyReturned()));
    return ids.stream()
        .filter(
            id ->
                (fixture.refund(id).status() == RefundStatus.SUCCEEDED)
                    != gone.getOrDefault(id, false))
        .toList();
  }

  private static long returned(ProviderSimulator storm) {
    return storm.refunds().stream()
        .filter(SimulatedRefund::moneyReturned)
        .mapToLong(SimulatedRefund::amountMinor)
        .sum();
  }

  /** What the ledger says went back for good at this test's provider. */
  private long booked() {
    return fixture
        .workerJdbi()
        .withHandle(
            handle ->
                handle
                    .createQuery(
                        """
                        SELECT coalesce(sum(CASE e.side WHEN 'DEBIT' THEN e.amount_minor ELSE -e.amount_minor END), 0)
                        FROM payrelay.ledger_entry e JOIN payrelay.ledger_account a USING (account_id)
                        WHERE a.kind = 'REFUNDS' AND a.provider = :provider
                        """)
                    .bind("provider", fixture.provider)
                    .mapTo(Long.class)
                    .one());
  }

  @Test
  void callsNobodyWhereEventAndRowDisagreeAndSweepsWhatHasNoEvent() throws Exception {
    Map<String, String> settings = new HashMap<>(FAST);
    // On a busy machine the sweep would take one before its event comes.
    settings.put("SWEEP_AGE_MS", "3000");
    fixture.worker(provider, settings);
    String payment = paid();
    List<String> differing = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      differing.add(ChargeFixture.newId());
      fixture.insertRefund(differing.get(i), payment, 100);
    }
    String silent = ChargeFixture.newId();

    // Amount, currency, payment, provider and transaction: each alone is enough.
    fixture.sendRefund(differing.get(0), payment, 101, null);
    fixture.sendRefund(differing.get(1), payment, 100, "EUR", "", null);
    fixture.sendRefund(differing.get(2), "another_payment", 100, null);
    fixture.sendRefund(differing.get(3), payment, 100, "USD", ",\"provider\":\"another\"", null);
    fixture.sendRefund(
        differing.get(4), payment, 100, "USD", ",\"provider_transaction_id\":\"ch_other\"", null);
    fixture.insertRefund(silent, payment, 200);

    awaitStatus(silent, RefundStatus.SUCCEEDED);
    soon(() -> assertThat(fixture.exceptions(payment)).hasSize(5).containsOnly("PAYLOAD_MISMATCH"));
    for (String id : differing) {
      assertThat(fixture.refund(id).status()).isEqualTo(RefundStatus.REQUESTED);
      assertThat(refunds(id)).isEmpty();
    }

    // A person closes the case: then it is built from its row.
    fixture.asOwner(
        """
        UPDATE payrelay.exception_case SET status = 'RESOLVED', resolved_at = now(), resolved_by = 'me',
          resolution = 'the row is right' WHERE payment_id = '%s'
        """
            .formatted(payment));
    for (String id : differing) {
      awaitStatus(id, RefundStatus.SUCCEEDED);
      assertThat(refunds(id)).extracting(SimulatedRefund::amountMinor).containsExactly(100L);
    }
  }

  @Test
  void refusesWhatAProviderCannotGiveBackBeforeAnyCall() throws Exception {
    ChargeWorker charging = fixture.worker(provider, FAST);
    String payment = paid();
    charging.close();
    String none = ChargeFixture.newId();
    String part = ChargeFixture.newId();
    String nobody = ChargeFixture.newId();
    for (String id : List.of(none, part, nobody)) {
      fixture.insertRefund(id, payment, 100);
    }

    String sent = ChargeFixture.newId();
    fixture.insertRefund(sent, payment, 100);
    NewRefundOperation operation =
        new NewRefundOperation(
            fixture.refund(sent),
            RefundAcceptance.idempotencyKey(sent),
            new byte[] {'b'},
            OperationAction.CALL);
    fixture
        .workerJdbi()
        .useTransaction(tx -> new RefundOperationStore().accept(tx, List.of(operation)));

    accept(none, Verdict.REFUSED, List.of(new Supporting(fixture.provider, RefundSupport.NONE)));
    accept(part, Verdict.REFUSED, List.of(new Supporting(fixture.provider, RefundSupport.FULL)));
    accept(nobody, Verdict.REFUSED, List.of());
    // An adapter that was set up otherwise may have taken it, and sent it.
    accept(sent, Verdict.DONE, List.of(new Supporting(fixture.provider, RefundSupport.NONE)));
    assertThat(fixture.refund(sent).status()).isEqualTo(RefundStatus.REQUESTED);

    assertThat(List.of(fixture.refund(none), fixture.refund(part)))
        .extracting(Refund::status, Refund::failureCode)
        .containsExactly(
            tuple(RefundStatus.FAILED, "refund_not_supported"),
            tuple(RefundStatus.FAILED, "partial_refund_not_supported"));
    assertThat(fixture.refund(nobody).status()).isEqualTo(RefundStatus.REQUESTED);
    assertThat(fixture.exceptions(payment)).containsExactly("UNKNOWN_PROVIDER");
    assertThat(simulator.refunds()).isEmpty();
    assertThat(refundable(payment)).isEqualTo(1000);
  }

  private void accept(String refundId, Verdict verdict, List<PaymentProvider> providers) {
    RefundAcceptance acceptance =
        new RefundAcceptance(
            fixture.workerJdbi(), providers, InstantSource.system(), ChargeFaults.NONE);
    assertThat(acceptance.accept(List.of(new RefundTrigger(refundId, null))))
        .containsExactly(verdict);
  }

  /** A provider that is only asked what it can give back. */
  private record Supporting(String name, RefundSupport refunds) implements PaymentProvider {

    @Override
    public Capabilities capabilities() {
      return new Capabilities(Duration.ofHours(1), true, Duration.ZERO, true, refunds);
    }

    @Override
    public Prepared prepareCharge(Payment payment) {
      throw new AssertionError("not asked for");
    }

    @Override
    public CompletableFuture<ProviderAnswer> charge(ChargeCall call) {
      throw new AssertionError("not asked for");
    }

    @Override
    public CompletableFuture<ProviderAnswer> query(ChargeRef charge, Duration timeout) {
      throw new AssertionError("not asked for");
    }

    @Override
    public CompletableFuture<ProviderAnswer> cancel(ChargeRef charge, Duration timeout) {
      throw new AssertionError("not asked for");
    }

    @Override
    public Prepared prepareRefund(RefundOrder order) {
      throw new AssertionError("not asked for");
    }

    @Override
    public CompletableFuture<ProviderAnswer> refund(RefundCall call) {
      throw new AssertionError("not asked for");
    }

    @Override
    public CompletableFuture<ProviderAnswer> queryRefund(RefundRef refund, Duration timeout) {
      throw new AssertionError("not asked for");
    }

    @Override
    public void close() {}
  }
}
