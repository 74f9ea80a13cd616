package io.payrelay.chargeworker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.lifecycle.PaymentStatus;
import io.payrelay.payments.money.Money;
import io.payrelay.payments.store.FactStore;
import io.payrelay.payments.store.NewOperation;
import io.payrelay.payments.store.OperationAction;
import io.payrelay.payments.store.OperationStore;
import io.payrelay.providers.ChargeCall;
import io.payrelay.providers.Prepared;
import io.payrelay.providers.generic.GenericProvider;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.EventCodec;
import io.payrelay.schemas.Topic;
import io.payrelay.simulator.Fault;
import io.payrelay.simulator.ProviderSimulator;
import io.payrelay.simulator.QueryFault;
import io.payrelay.simulator.SimulatedCharge;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What is not charged, not charged again, or left to a person. */
@Timeout(60)
class ChargeLimitsIT {

  /** A key that lives for 1.6 s is safe for 1.6 - (0.4 + 0.15) s after the first call. */
  private static final Map<String, String> SHORT_LIVED =
      Map.of(
          "CALL_TIMEOUT_MS", "150",
          "LEASE_MS", "400",
          "QUERY_DELAYS_MS", "100",
          "QUERY_DELAY_CAP_MS", "150",
          "RETRY_FIRST_MS", "20",
          "BREAKER_CALLS_MIN", "5000");

  private static final Duration KEY_LIFETIME = Duration.ofMillis(1_600);

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
  void doesNotChargeWhereEventAndPaymentDisagree() throws Exception {
    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig());
    fixture.worker(fixture.provider(simulator), Map.of());
    String amount = ChargeFixture.newId();
    String currency = ChargeFixture.newId();
    String provider = ChargeFixture.newId();
    List<String> ids = List.of(amount, currency, provider);
    ids.forEach(id -> fixture.insert(id, "pm_card"));

    fixture.sendNaming(amount, fixture.provider, 1_300, "USD");
    fixture.sendNaming(currency, fixture.provider, 1_200, "EUR");
    fixture.sendNaming(provider, "another", 1_200, "USD");

    for (String id : ids) {
      awaitExceptions(id, "PAYLOAD_MISMATCH");
      assertThat(fixture.payment(id).status()).isEqualTo(PaymentStatus.CREATED);
      assertThat(fixture.nextAction(id)).isEqualTo("-");
    }
    assertThat(simulator.stats().chargeCalls()).isZero();
  }

  @Test
  void neverCallsAWrongAmountSucceeded() throws Exception {
    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig());
    fixture.worker(fixture.provider(simulator), Map.of());

    String id = fixture.pay("pm_wrong_amount");

    awaitExceptions(id, "AMOUNT_MISMATCH");
    assertThat(fixture.payment(id).status()).isEqualTo(PaymentStatus.UNKNOWN);
    assertThat(fixture.nextAction(id)).isEqualTo("none");
    assertThat(fixture.attempts(id)).hasSize(1);
  }

  @Test
  void endsFailedWhatTheAdapterRefuses() throws Exception {
    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig());
    fixture.worker(fixture.provider(simulator), Map.of());
    String id = ChargeFixture.newId();
    fixture.insertRow(id, "{\"payment_method\": {\"token\": \"x\"}}");

    fixture.send(id);

    awaitStatus(id, PaymentStatus.FAILED);
    assertThat(fixture.payment(id).failureCode()).isEqualTo("invalid_payment_method");
    assertThat(simulator.stats().chargeCalls()).isZero();
  }

  /** An adapter that was set up otherwise may have taken it, and sent it. */
  @Test
  void refusesNothingThatHasItsOperation() throws Exception {
    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig());
    String id = ChargeFixture.newId();
    fixture.insertRow(id, "{\"payment_method\": {\"token\": \"x\"}}");
    NewOperation before =
        new NewOperation(
            id,
            fixture.provider,
            Acceptance.idempotencyKey(id),
            new byte[] {'b'},
            null,
            OperationAction.CALL);
    fixture.workerJdbi().useTransaction(tx -> new OperationStore().accept(tx, List.of(before)));
    Acceptance acceptance =
        new Acceptance(
            fixture.workerJdbi(),
            List.of(fixture.provider(simulator)),
            InstantSource.system(),
            ChargeFaults.NONE);

    assertThat(acceptance.accept(List.of(new Trigger(id, null)))).containsExactly(Verdict.DONE);

    assertThat(fixture.payment(id).status()).isEqualTo(PaymentStatus.CREATED);
  }

  @Test
  void leavesAProviderItDoesNotKnowToAPerson() throws Exception {
    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig());
    try (ChargeFixture other = new ChargeFixture()) {
      fixture.worker(fixture.provider(simulator), Map.of());

      String id = other.pay("pm_card");

      awaitExceptions(id, "UNKNOWN_PROVIDER");
      assertThat(fixture.payment(id).status()).isEqualTo(PaymentStatus.CREATED);
    }
  }

  // Source: commcare-hq PR 33509 (unknown for longer than the key lives).
  @Test
  void doesNotSendAKeyTheProviderMayHaveForgotten() throws Exception {
    ProviderSimulator simulator =
        fixture.simulator(fixture.simulatorConfig().keyLife(KEY_LIFETIME));
    String id = ChargeFixture.newId();
    simulator.script(id, Fault.RESET_BEFORE);
    simulator.scriptQueries(id, unavailable(14));
    startWarm(simulator);

    fixture.insert(id, "pm_card");
    fixture.send(id);

    awaitExceptions(id, "UNRESOLVED");
    assertThat(fixture.payment(id).status()).isEqualTo(PaymentStatus.UNKNOWN);
    assertThat(fixture.nextAction(id)).isEqualTo("none");
    assertThat(fixture.attempts(id)).filteredOn(one -> one.startsWith("CALL")).hasSize(1);
    assertThat(simulator.stats().chargeCalls()).isEqualTo(2);
  }

  @Test
  void findsByQueryWhatItMayNotSendAgain() throws Exception {
    ProviderSimulator simulator =
        fixture.simulator(fixture.simulatorConfig().keyLife(KEY_LIFETIME));
    String id = ChargeFixture.newId();
    simulator.script(id, Fault.TIMEOUT_AFTER);
    simulator.scriptQueries(id, unavailable(14));
    startWarm(simulator);

    fixture.insert(id, "pm_card");
    fixture.send(id);

    awaitStatus(id, PaymentStatus.SUCCEEDED);
    assertThat(ChargeFixture.charges(simulator, id)).hasSize(1);
    assertThat(simulator.stats().chargeCalls()).isEqualTo(2);
  }

  @Test
  void callsQueryWhereTheKeyGotUnsafeBetweenTwoCalls() throws Exception {
    ProviderSimulator simulator =
        fixture.simulator(fixture.simulatorConfig().keyLife(KEY_LIFETIME).notProcessedTimes(1_000));
    fixture.worker(fixture.provider(simulator.baseUrl(), KEY_LIFETIME, Duration.ZERO), SHORT_LIVED);

    String id = fixture.pay("pm_503");

    awaitExceptions(id, "UNRESOLVED");
    assertThat(fixture.attempts(id)).endsWith("QUERY NOT_FOUND");
    assertThat(ChargeFixture.charges(simulator, id)).isEmpty();
  }

  // Source: woocommerce-gateway-stripe #2339 (another key per try: two charges).
  @Test
  void noticesThatAProviderChargedTwice() throws Exception {
    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig());
    GenericProvider provider = fixture.provider(simulator);
    String id = ChargeFixture.newId();
    fixture.insert(id, "pm_card");
    byte[] body = ((Prepared.Ready) provider.prepareCharge(fixture.payment(id))).body();
    for (String key : List.of("foreign-1-" + id, "foreign-2-" + id)) {
      long deadlineNs = System.nanoTime() + Duration.ofSeconds(10).toNanos();
      provider.charge(new ChargeCall(id, key, body, deadlineNs, Duration.ofSeconds(5))).join();
    }
    simulator.script(id, Fault.RESET_BEFORE);
    fixture.worker(provider, Map.of("QUERY_DELAYS_MS", "50"));

    fixture.send(id);

    awaitExceptions(id, "DOUBLE_CHARGE");
    assertThat(fixture.payment(id).status()).isEqualTo(PaymentStatus.SUCCEEDED);
    assertThat(fixture.nextAction(id)).isEqualTo("none");
  }

  @Test
  void cancelsAChargeThatIsPendingForTooLong() throws Exception {
    ProviderSimulator simulator =
        fixture.simulator(fixture.simulatorConfig().pendingSettleDelay(Duration.ofHours(1)));
    fixture.worker(
        fixture.provider(simulator),
        Map.of("QUERY_DELAYS_MS", "50", "QUERY_DELAY_CAP_MS", "100", "PENDING_EXPIRY_MS", "300"));

    String id = fixture.pay("pm_pending");

    awaitStatus(id, PaymentStatus.FAILED);
    assertThat(fixture.payment(id).failureCode()).isEqualTo("canceled");
    assertThat(fixture.attempts(id)).endsWith("CANCEL DECLINED");
  }

  @Test
  void waitsForAPaymentThatIsNotVisibleYetWithoutBlockingOthers() throws Exception {
    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig());
    fixture.worker(fixture.provider(simulator), Map.of());
    String early = ChargeFixture.newId();
    String other = ChargeFixture.newId();
    fixture.insert(other, "pm_card");

    fixture.send(early, 1_200, 3);
    fixture.send(other, 1_200, 3);
    awaitStatus(other, PaymentStatus.SUCCEEDED);
    fixture.insert(early, "pm_card");

    awaitStatus(early, PaymentStatus.SUCCEEDED);
    assertThat(ChargeFixture.charges(simulator, early)).hasSize(1);
  }

  // Source: spring-kafka #1287, #316, vertx-kafka-client #220 (poison records).
  @Test
  void setsAsideWhatItCannotReadAndWhatHasNoPayment() throws Exception {
    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig());
    fixture.worker(fixture.provider(simulator), Map.of("NOT_VISIBLE_LIMIT_MS", "300"));
    String garbage = "garbage " + ChargeFixture.newId();
    String missing = ChargeFixture.newId();

    fixture.sendBytes("key", garbage.getBytes(StandardCharsets.UTF_8), 5);
    fixture.sendBytes("key", null, 5);
    fixture.sendBytes("key", hugeString(), 5);
    fixture.send(missing, 1_200, 5);
    String next = ChargeFixture.newId();
    fixture.insert(next, "pm_card");
    fixture.send(next, 1_200, 5);

    awaitStatus(next, PaymentStatus.SUCCEEDED);
    await()
        .atMost(Duration.ofSeconds(15))
        .untilAsserted(
            () ->
                assertThat(deadLetters())
                    .anyMatch(one -> one.endsWith(garbage))
                    .anyMatch(one -> one.startsWith("record without value"))
                    .anyMatch(one -> one.startsWith("record of ChargeRequested is damaged"))
                    .anyMatch(one -> one.startsWith("there is no such payment")));
  }

  @Test
  void takesAPaymentFromItsRowWhereNoEventComes() throws Exception {
    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig());
    String id = ChargeFixture.newId();
    fixture.insert(id, "pm_card");

    fixture.worker(
        fixture.provider(simulator), Map.of("SWEEP_AGE_MS", "300", "SWEEP_INTERVAL_MS", "100"));

    awaitStatus(id, PaymentStatus.SUCCEEDED);
    fixture.send(id);
    awaitStatus(fixture.pay("pm_card"), PaymentStatus.SUCCEEDED);
    assertThat(ChargeFixture.charges(simulator, id)).hasSize(1);
  }

  @Test
  void leavesAProviderAloneThatIsDownAndGoesOnWhenItIsBack() throws Exception {
    int port;
    try (ServerSocket socket = new ServerSocket(0)) {
      port = socket.getLocalPort();
    }
    GenericProvider provider =
        fixture.provider(
            URI.create("http://127.0.0.1:" + port), Duration.ofHours(24), Duration.ZERO);
    fixture.worker(
        provider,
        Map.of(
            "BREAKER_CALLS_MIN", "5",
            "BREAKER_WAIT_MS", "400",
            "RETRY_FIRST_MS", "20",
            "RETRY_CAP_MS", "50"));
    List<String> ids = fixture.payAll(10, "pm_card");
    await().until(() -> ids.stream().allMatch(id -> !fixture.nextAction(id).equals("-")));
    String settled = ids.get(0);
    succeedByWebhook(settled);
    // Without the breaker each of ten payments would be tried some 40 times a second.
    await()
        .during(Duration.ofSeconds(1))
        .atMost(Duration.ofSeconds(5))
        .until(() -> ids.stream().mapToInt(id -> fixture.attempts(id).size()).sum() < 60);

    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig().port(port));

    await()
        .atMost(Duration.ofSeconds(20))
        .until(() -> fixture.count(ids, PaymentStatus.SUCCEEDED) == 10);
    assertThat(simulator.charges()).hasSize(9);
    await().until(() -> fixture.nextAction(settled), next -> next.equals("none"));
    assertThat(ChargeFixture.charges(simulator, settled)).isEmpty();
  }

  @Test
  void keepsToTheRate() throws Exception {
    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig());
    ChargeWorker worker =
        fixture.worker(fixture.provider(simulator), Map.of("RATE_PER_SECOND", "20"));

    List<String> ids = fixture.payAll(60, "pm_card");
    await()
        .atMost(Duration.ofSeconds(20))
        .until(() -> fixture.count(ids, PaymentStatus.SUCCEEDED) == 60);

    List<Instant> calls =
        simulator.charges().stream().map(SimulatedCharge::createdAt).sorted().toList();
    assertThat(Duration.between(calls.get(0), calls.get(59)))
        .isGreaterThan(Duration.ofMillis(2_500));
    assertThat(ids).allMatch(id -> fixture.attempts(id).size() == 1);
    assertThat(worker.health()).isEqualTo("ok");
  }

  /** A worker that is at work already: a payment that waits for it is too old to be called. */
  private void startWarm(ProviderSimulator simulator) throws Exception {
    fixture.worker(fixture.provider(simulator.baseUrl(), KEY_LIFETIME, Duration.ZERO), SHORT_LIVED);
    awaitStatus(fixture.pay("pm_card"), PaymentStatus.SUCCEEDED);
  }

  private void succeedByWebhook(String id) {
    Fact fact =
        new Fact(
            FactSource.WEBHOOK,
            fixture.provider,
            id,
            Observation.SUCCEEDED,
            "ch_" + id,
            new Money(1_200, "USD"),
            null,
            null,
            null,
            Instant.now(),
            Map.of());
    fixture
        .workerJdbi()
        .useTransaction(tx -> new FactStore().apply(tx, List.of(fact), Instant.now()));
  }

  /** Names a payment id of 2 147 483 647 bytes and has none of them. */
  private static byte[] hugeString() throws Exception {
    byte[] event =
        new EventCodec(EventCatalogue.builtIn())
            .encode(
                "ChargeRequested",
                """
                {"payment_id":"payment_1","merchant":"shop","merchant_order_id":"1",
                "provider":"simulator","amount_minor":1,"currency":"USD","trace_id":null}""");
    byte[] huge = Arrays.copyOf(event, 15);
    byte[] length = {(byte) 0xfe, (byte) 0xff, (byte) 0xff, (byte) 0xff, 0x0f};
    System.arraycopy(length, 0, huge, 10, length.length);
    return huge;
  }

  private static QueryFault[] unavailable(int times) {
    return Collections.nCopies(times, QueryFault.UNAVAILABLE).toArray(QueryFault[]::new);
  }

  /** Reason and value of each. */
  private List<String> deadLetters() {
    Map<String, Object> properties = fixture.kafka().consumerProperties("test-dead-letters");
    List<String> found = new ArrayList<>();
    try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties)) {
      List<TopicPartition> partitions = List.of(new TopicPartition(Topic.DEAD_LETTER, 0));
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      long end = consumer.endOffsets(partitions).get(partitions.get(0));
      while (consumer.position(partitions.get(0)) < end) {
        for (ConsumerRecord<byte[], byte[]> letter : consumer.poll(Duration.ofMillis(200))) {
          found.add(
              text(letter.headers().lastHeader("reason").value()) + " " + text(letter.value()));
        }
      }
    }
    return found;
  }

  private static String text(byte[] bytes) {
    return bytes == null ? "" : new String(bytes, StandardCharsets.UTF_8);
  }

  private void awaitExceptions(String id, String... kinds) {
    await()
        .atMost(Duration.ofSeconds(20))
        .untilAsserted(
            () ->
                assertThat(fixture.exceptions(id))
                    .as(() -> id + " " + fixture.attempts(id) + " " + fixture.nextAction(id))
                    .isEqualTo(Arrays.asList(kinds)));
  }

  private void awaitStatus(String id, PaymentStatus status) {
    await()
        .atMost(Duration.ofSeconds(20))
        .untilAsserted(
            () ->
                assertThat(fixture.payment(id).status())
                    .as(() -> id + " " + fixture.attempts(id) + " " + fixture.nextAction(id))
                    .isEqualTo(status));
  }
}
