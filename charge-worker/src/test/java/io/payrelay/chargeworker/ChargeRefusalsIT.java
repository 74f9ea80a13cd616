package io.payrelay.chargeworker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.lifecycle.PaymentStatus;
import io.payrelay.payments.store.FactStore;
import io.payrelay.providers.Capabilities;
import io.payrelay.providers.ChargeCall;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.Prepared;
import io.payrelay.providers.generic.GenericProvider;
import io.payrelay.simulator.ProviderSimulator;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What the database refuses, and what a restored backup has forgotten. */
@Timeout(60)
class ChargeRefusalsIT {

  private static final Map<String, String> FAST =
      Map.of(
          "CALL_TIMEOUT_MS", "400",
          "LEASE_MS", "1500",
          "QUERY_DELAYS_MS", "50,100",
          "QUERY_DELAY_CAP_MS", "200",
          "RESOLVE_HORIZON_MS", "3000",
          "SWEEP_AGE_MS", "300",
          "SWEEP_INTERVAL_MS", "100");

  private ChargeFixture fixture;

  @BeforeEach
  void open() throws Exception {
    fixture = new ChargeFixture();
  }

  @AfterEach
  void close() throws Exception {
    fixture.asOwner(
        "DROP TRIGGER IF EXISTS test_refusal ON payrelay.payment;"
            + "DROP TRIGGER IF EXISTS test_refusal ON payrelay.operation;"
            + "DROP FUNCTION IF EXISTS payrelay.test_refusal();");
    fixture.close();
  }

  // Source: a trap of sample code: an error of the database after the charge is no failed charge.
  @Test
  void leavesToAPersonAnOutcomeThatIsRefusedEachTimeAndWritesTheOthers() throws Exception {
    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig());
    GenericProvider provider = fixture.provider(simulator);
    String id = ChargeFixture.newId();
    refuse("payment", id, "AND NEW.status = 'SUCCEEDED'", "unique_violation");
    fixture.insert(id, "pm_card");
    fixture.worker(provider, FAST);

    fixture.send(id);
    List<String> others = fixture.payAll(5, "pm_card");

    await()
        .atMost(Duration.ofSeconds(20))
        .until(() -> fixture.count(others, PaymentStatus.SUCCEEDED) == 5);
    awaitStatus(id, PaymentStatus.UNKNOWN);
    assertThat(observed(id)).containsExactly("UNRESOLVED 1200 USD expected 1200 USD open");
    await().atMost(Duration.ofSeconds(20)).until(() -> fixture.nextAction(id).equals("none"));
    assertThat(fixture.attempts(id)).startsWith("CALL UNKNOWN", "QUERY UNKNOWN");
    assertThat(observed(id)).contains("UNRESOLVED 1200 USD expected 1200 USD open");
    assertThat(ChargeFixture.charges(simulator, id)).hasSize(1);
  }

  @Test
  void doesNotLoopWhereNotEvenUnknownCanBeWritten() throws Exception {
    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig());
    String id = ChargeFixture.newId();
    refuse("payment", id, "", "check_violation");
    fixture.insert(id, "pm_card");
    fixture.worker(fixture.provider(simulator), FAST);

    fixture.send(id);
    String other = fixture.pay("pm_card");

    awaitStatus(other, PaymentStatus.SUCCEEDED);
    await()
        .atMost(Duration.ofSeconds(20))
        .until(
            () -> observed(id), cases -> cases.contains("UNRESOLVED 1200 USD expected null open"));
  }

  @Test
  void leavesToAPersonWhatCannotBeAcceptedAndAcceptsTheOthers() throws Exception {
    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig());
    String id = ChargeFixture.newId();
    refuse("operation", id, "", "unique_violation");
    fixture.insert(id, "pm_card");
    String other = ChargeFixture.newId();
    fixture.insert(other, "pm_card");

    // No event: the sweep takes both.
    ChargeWorker worker = fixture.worker(fixture.provider(simulator), FAST);

    awaitStatus(other, PaymentStatus.SUCCEEDED);
    await()
        .atMost(Duration.ofSeconds(20))
        .until(() -> fixture.exceptions(id), kinds -> kinds.equals(List.of("MISSING_EVENT")));
    fixture.send(id);
    awaitStatus(fixture.pay("pm_card"), PaymentStatus.SUCCEEDED);
    assertThat(fixture.exceptions(id)).containsExactly("MISSING_EVENT");
    assertThat(fixture.payment(id).status()).isEqualTo(PaymentStatus.CREATED);
    assertThat(worker.health()).isEqualTo("ok");
  }

  @Test
  void asksFirstWhereAPaymentIsUnknownAndItsOperationIsGone() throws Exception {
    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig());
    GenericProvider provider = fixture.provider(simulator);
    String id = ChargeFixture.newId();
    fixture.insert(id, "pm_card");
    chargeUnseen(provider, id);
    Fact unknown =
        Fact.plain(
            FactSource.WEBHOOK,
            fixture.provider,
            id,
            Observation.UNKNOWN,
            null,
            Instant.now(),
            Map.of());
    fixture
        .workerJdbi()
        .useTransaction(tx -> new FactStore().apply(tx, List.of(unknown), Instant.now()));

    fixture.worker(provider, FAST);

    awaitStatus(id, PaymentStatus.SUCCEEDED);
    assertThat(fixture.attempts(id)).containsExactly("QUERY SUCCEEDED");
  }

  @Test
  void asksFirstWhereAPaymentIsOlderThanAKeyIsSafe() throws Exception {
    Duration keyLife = Duration.ofSeconds(2);
    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig().keyLife(keyLife));
    GenericProvider provider = fixture.provider(simulator.baseUrl(), keyLife, Duration.ZERO);
    String charged = ChargeFixture.newId();
    String never = ChargeFixture.newId();
    fixture.insert(charged, "pm_card");
    fixture.insert(never, "pm_card");
    // As after a backup was restored: the provider has it and has forgotten the key, we know
    // nothing.
    chargeUnseen(provider, charged);
    ChargeFixture silent = new ChargeFixture();
    GenericProvider unasked = silent.provider(simulator.baseUrl(), keyLife, Duration.ZERO);
    String left = ChargeFixture.newId();
    silent.insert(left, "pm_card");
    chargeUnseen(unasked, left);
    Instant forgotten = Instant.now().plus(keyLife);
    await().until(() -> Instant.now().isAfter(forgotten));

    fixture.worker(
        List.of(provider, withoutQueries(unasked)),
        Map.of(
            "CALL_TIMEOUT_MS", "150",
            "LEASE_MS", "400",
            "QUERY_DELAYS_MS", "50",
            "BREAKER_CALLS_MIN", "5000"),
        ChargeFaults.NONE,
        Map.of(),
        InstantSource.system());
    fixture.send(charged);
    fixture.send(never);
    silent.send(left);

    // Nobody to ask, and the key may be forgotten: a person's, and nothing is sent.
    await()
        .atMost(Duration.ofSeconds(20))
        .until(() -> silent.exceptions(left), kinds -> kinds.equals(List.of("UNRESOLVED")));
    assertThat(silent.attempts(left)).containsExactly("QUERY UNKNOWN");
    assertThat(ChargeFixture.charges(simulator, left)).hasSize(1);
    silent.close();
    awaitStatus(charged, PaymentStatus.SUCCEEDED);
    awaitStatus(never, PaymentStatus.SUCCEEDED);
    assertThat(fixture.attempts(charged))
        .endsWith("QUERY SUCCEEDED")
        .doesNotContain("CALL SUCCEEDED");
    assertThat(fixture.attempts(never)).startsWith("QUERY NOT_FOUND").endsWith("CALL SUCCEEDED");
    assertThat(ChargeFixture.charges(simulator, charged)).hasSize(1);
    assertThat(ChargeFixture.charges(simulator, never)).hasSize(1);
  }

  private static PaymentProvider withoutQueries(PaymentProvider provider) {
    Capabilities promised = provider.capabilities();
    Capabilities fewer =
        new Capabilities(promised.keyLifetime(), false, Duration.ZERO, false, promised.refunds());
    return (PaymentProvider)
        Proxy.newProxyInstance(
            PaymentProvider.class.getClassLoader(),
            new Class<?>[] {PaymentProvider.class},
            (self, method, arguments) ->
                method.getName().equals("capabilities")
                    ? fewer
                    : method.invoke(provider, arguments));
  }

  @Test
  void saysThatItDoesNotGetOn() throws Exception {
    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig());

    ChargeWorker worker = fixture.workerWithoutDatabase(fixture.provider(simulator));

    await().until(worker::health, health -> health.matches("dispatcher has failed \\d+ times.*"));
  }

  private void chargeUnseen(GenericProvider provider, String id) {
    byte[] body = ((Prepared.Ready) provider.prepareCharge(fixture.payment(id))).body();
    long deadlineNs = System.nanoTime() + Duration.ofSeconds(10).toNanos();
    provider
        .charge(
            new ChargeCall(
                id, Acceptance.idempotencyKey(id), body, deadlineNs, Duration.ofSeconds(5)))
        .join();
  }

  /** Makes the database refuse what is written of the payment. */
  private void refuse(String table, String id, String further, String condition) {
    fixture.asOwner(
        """
        CREATE OR REPLACE FUNCTION payrelay.test_refusal() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN RAISE EXCEPTION ''no'' USING ERRCODE = ''%s''; END'
        """
            .formatted(condition));
    fixture.asOwner(
        """
        CREATE TRIGGER test_refusal BEFORE %s ON payrelay.%s FOR EACH ROW
        WHEN (NEW.payment_id = '%s' %s) EXECUTE FUNCTION payrelay.test_refusal()
        """
            .formatted(table.equals("payment") ? "UPDATE" : "INSERT", table, id, further));
  }

  private List<String> observed(String id) {
    return fixture
        .workerJdbi()
        .withHandle(
            handle ->
                handle
                    .createQuery(
                        """
                        SELECT kind || ' ' || coalesce(observed_amount_minor || ' ' || observed_currency, 'null')
                          || ' expected ' || coalesce(expected_amount_minor || ' ' || expected_currency, 'null')
                          || ' ' || lower(status)
                        FROM payrelay.exception_case WHERE payment_id = :id ORDER BY 1
                        """)
                    .bind("id", id)
                    .mapTo(String.class)
                    .list());
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
