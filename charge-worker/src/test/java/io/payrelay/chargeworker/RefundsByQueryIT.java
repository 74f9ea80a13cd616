package io.payrelay.chargeworker;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.payrelay.payments.lifecycle.PaymentStatus;
import io.payrelay.payments.lifecycle.RefundStatus;
import io.payrelay.payments.money.Money;
import io.payrelay.payments.store.FactStore;
import io.payrelay.payments.store.OperationStore;
import io.payrelay.platform.config.Secret;
import io.payrelay.providers.Prepared;
import io.payrelay.providers.RefundCall;
import io.payrelay.providers.RefundOrder;
import io.payrelay.providers.WebhookEvent;
import io.payrelay.providers.WebhookRequest;
import io.payrelay.providers.generic.GenericProvider;
import io.payrelay.providers.generic.GenericWebhookConfig;
import io.payrelay.providers.generic.GenericWebhooks;
import io.payrelay.simulator.Fault;
import io.payrelay.simulator.ProviderSimulator;
import io.payrelay.simulator.QueryFault;
import io.payrelay.simulator.SimulatedRefund;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What was given back is learnt by a question about the charge, too. */
@Timeout(120)
class RefundsByQueryIT {

  private static final Map<String, String> FAST =
      Map.of(
          "CALL_TIMEOUT_MS", "2000",
          "LEASE_MS", "5000",
          "QUERY_DELAYS_MS", "50,100",
          "QUERY_DELAY_CAP_MS", "200",
          "RETRY_FIRST_MS", "50",
          "RETRY_CAP_MS", "100",
          "BREAKER_CALLS_MIN", "5000");

  private ChargeFixture fixture;
  private ProviderSimulator simulator;
  private GenericProvider provider;

  /** The same account, in the hands of a person at the provider. */
  private GenericProvider dashboard;

  @BeforeEach
  void open() throws Exception {
    fixture = new ChargeFixture();
    simulator =
        fixture.simulator(fixture.simulatorConfig().pendingSettleDelay(Duration.ofMillis(200)));
    provider = fixture.provider(simulator);
    dashboard = fixture.provider(simulator);
  }

  @AfterEach
  void close() {
    fixture.close();
  }

  // Source: Alipay TRADE_CLOSED after a full refund, WeChat trade_state REFUND: the query of an
  // unknown payment returns these.
  @Test
  void findsPaidAndGivenBackWhatNoAnswerToldAndBooksTheRefundOnce() throws Exception {
    String id = ChargeFixture.newId();
    simulator.script(id, Fault.RESET_AFTER);
    AtomicBoolean givenBack = new AtomicBoolean();
    fixture.worker(
        provider,
        FAST,
        point -> {
          // Before the lost answer is written, so before anybody asks.
          if (point == ChargeFaults.Point.AFTER_ANSWER && givenBack.compareAndSet(false, true)) {
            giveBack(id, 1200);
          }
        },
        Map.of());

    fixture.insert(id, "pm_card");
    fixture.send(id);

    soon(() -> assertThat(fixture.payment(id).status()).isEqualTo(PaymentStatus.SUCCEEDED));
    assertThat(fixture.attempts(id)).containsExactly("CALL UNKNOWN", "QUERY SUCCEEDED");
    List<String> found = traces(id);
    assertThat(found)
        .containsExactly(
            "CAPTURE 1200",
            "PROVIDER_REFUND 1200",
            "PaymentRequested UPSTREAM",
            "PaymentPending RESPONSE",
            "PaymentUnknown RESPONSE",
            "PaymentConfirmed QUERY",
            "MoneyReversed QUERY",
            "case PROVIDER_REFUND");

    // The webhook of the same refund.
    apply(webhook(simulator.refunds().get(0)));

    assertThat(traces(id)).isEqualTo(found);
    assertThat(fixture.payment(id).status()).isEqualTo(PaymentStatus.SUCCEEDED);
  }

  @Test
  void endsRefundsOfOursThatTheAnswerNamesAndOpensACaseForAnotherOnly() throws Exception {
    fixture.worker(provider, FAST);
    String payment = fixture.pay("pm_card");
    soon(() -> assertThat(fixture.payment(payment).status()).isEqualTo(PaymentStatus.SUCCEEDED));
    String pending = ask(payment, 400, Fault.PENDING);
    String lost = ask(payment, 300, Fault.RESET_AFTER);
    soon(() -> assertThat(fixture.refund(pending).status()).isEqualTo(RefundStatus.PENDING));
    soon(() -> assertThat(fixture.refund(lost).status()).isEqualTo(RefundStatus.UNKNOWN));
    giveBack(payment, 200);
    await().until(() -> simulator.refunds().stream().allMatch(SimulatedRefund::moneyReturned));

    fixture
        .workerJdbi()
        .useTransaction(tx -> new OperationStore().queryThoughSettled(tx, List.of(payment)));

    for (String id : List.of(pending, lost)) {
      soon(() -> assertThat(fixture.refund(id).status()).isEqualTo(RefundStatus.SUCCEEDED));
      SimulatedRefund made =
          simulator.refunds().stream()
              .filter(refund -> refund.merchantRefundId().equals(id))
              .findFirst()
              .orElseThrow();
      assertThat(fixture.refund(id).providerRefundId()).isEqualTo(made.id());
      // By the charge's query: its own were not answered.
      assertThat(fixture.refundAttempts(id)).doesNotContain("QUERY SUCCEEDED");
    }
    assertThat(traces(payment))
        .containsOnlyOnce("CAPTURE 1200", "REFUND 400", "REFUND 300", "PROVIDER_REFUND 200")
        .filteredOn(one -> one.startsWith("case"))
        .containsExactly("case PROVIDER_REFUND");
  }

  /** Asks for a refund, of which no query is answered. */
  private String ask(String payment, long amountMinor, Fault fault) throws Exception {
    String id = ChargeFixture.newId();
    simulator.script(id, fault);
    QueryFault[] unanswered = new QueryFault[1_000];
    Arrays.fill(unanswered, QueryFault.UNAVAILABLE);
    simulator.scriptQueries(id, unanswered);
    fixture.insertRefund(id, payment, amountMinor);
    fixture.sendRefund(id, payment, amountMinor, null);
    return id;
  }

  private void giveBack(String payment, long amountMinor) {
    String charge = ChargeFixture.charges(simulator, payment).get(0).id();
    String id = "theirs_" + payment.substring(0, 8);
    Prepared prepared =
        dashboard.prepareRefund(
            new RefundOrder(id, payment, charge, new Money(amountMinor, "USD"), null));
    Duration timeout = Duration.ofSeconds(10);
    dashboard
        .refund(
            new RefundCall(
                id,
                payment,
                charge,
                "key_" + id,
                ((Prepared.Ready) prepared).body(),
                System.nanoTime() + timeout.toNanos(),
                timeout))
        .join();
    assertThat(simulator.refunds()).anyMatch(refund -> refund.merchantRefundId().equals(id));
  }

  private WebhookEvent webhook(SimulatedRefund refund) throws Exception {
    GenericWebhooks adapter =
        new GenericWebhooks(
            new GenericWebhookConfig(
                fixture.provider,
                List.of(new Secret("whsec_c2ltdWxhdGVkLXNlY3JldC0wMTIzNDU2Nzg5")),
                Duration.ofMinutes(5),
                false));
    String body =
        """
        {"type":"refund.succeeded","timestamp":"%s","data":{"id":"%s","merchant_refund_id":"%s",
         "charge":"%s","merchant_transaction_id":"%s","status":"succeeded","amount":%d,"currency":"%s"}}"""
            .formatted(
                Instant.now(),
                refund.id(),
                refund.merchantRefundId(),
                refund.chargeId(),
                refund.merchantTransactionId(),
                refund.amountMinor(),
                refund.currency());
    return adapter.read(
        new WebhookRequest(Map.of("webhook-id", "evt_" + refund.id()), body.getBytes(UTF_8)),
        Instant.now());
  }

  private void apply(WebhookEvent event) {
    assertThat(event.facts()).hasSize(1);
    fixture
        .workerJdbi()
        .useTransaction(tx -> new FactStore().apply(tx, event.facts(), Instant.now()));
  }

  /** All that the books, the history and the case list say of a payment. */
  private List<String> traces(String payment) {
    return Collections.unmodifiableList(
        fixture
            .workerJdbi()
            .withHandle(
                handle ->
                    handle
                        .createQuery(
                            """
                            SELECT trace FROM (
                              SELECT 1 AS part, p.posting_id AS place, p.kind || ' ' || e.amount_minor AS trace
                              FROM payrelay.ledger_posting p
                              JOIN payrelay.ledger_entry e ON e.posting_id = p.posting_id AND e.entry_number = 1
                              WHERE p.payment_id = :id
                              UNION ALL
                              SELECT 2, payment_event_id, event_type || ' ' || fact_source
                              FROM payrelay.payment_event WHERE payment_id = :id
                              UNION ALL
                              SELECT 3, 0, 'case ' || kind FROM payrelay.exception_case WHERE payment_id = :id
                            ) AS traces ORDER BY part, place
                            """)
                        .bind("id", payment)
                        .mapTo(String.class)
                        .list()));
  }

  private static void soon(Runnable assertion) {
    await().atMost(Duration.ofSeconds(30)).untilAsserted(assertion::run);
  }
}
