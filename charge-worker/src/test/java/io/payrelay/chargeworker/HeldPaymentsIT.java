package io.payrelay.chargeworker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.payrelay.payments.lifecycle.PaymentStatus;
import io.payrelay.payments.lifecycle.RefundStatus;
import io.payrelay.platform.config.Settings;
import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.Failures;
import io.payrelay.platform.lifecycle.Worker;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.generic.GenericProvider;
import io.payrelay.simulator.ProviderSimulator;
import java.sql.Connection;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.Jdbi;
import org.jdbi.v3.core.statement.SqlLogger;
import org.jdbi.v3.core.statement.StatementContext;
import org.jdbi.v3.postgres.PostgresPlugin;
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
      // The others were let go, and what was answered is there.
      List<String> letGo =
          refunds.stream()
              .filter(id -> fixture.refundAttempts(id).get(0).equals("CALL UNKNOWN"))
              .toList();
      assertThat(letGo).hasSize(2);
      letGo.forEach(id -> assertEvidence(id));
      // Of those that wait, what was answered is there, too.
      assertThat(waiting(refunds)).isEqualTo(4);
      upstream.commit();
    }

    refunds.forEach(id -> awaitStatus(id, RefundStatus.SUCCEEDED));
    assertThat(simulator.stats().idsRefundedTwice()).isZero();
    assertThat(simulator.refunds()).hasSize(7);
    soon(() -> assertThat(worker.inFlight()).isZero());
    assertThat(worker.health()).isEqualTo("ok");
  }

  /** As a person does who looks at refunds with FOR UPDATE: their payments are free. */
  @Test
  void stopsNoOtherProviderWhereTheAnswersOfOneWaitForRows() throws Exception {
    try (ChargeFixture second = new ChargeFixture();
        Handle person = fixture.openAsOwner()) {
      ProviderSimulator other = second.simulator(second.simulatorConfig());
      ChargeWorker worker =
          fixture.worker(
              List.of(provider, second.provider(other)),
              FAST,
              ChargeFaults.NONE,
              Map.of(),
              InstantSource.system());
      List<String> payments = paid(8);
      List<String> refunds = payments.stream().map(this::insertRefund).toList();
      person.begin();
      // Its operation can be made, and it cannot be changed.
      person
          .createQuery(
              "SELECT 1 FROM payrelay.refund WHERE refund_id = ANY (:ids) FOR NO KEY UPDATE")
          .bindArray("ids", String.class, refunds)
          .mapTo(Integer.class)
          .list();
      send(refunds.subList(0, 6), payments);
      // Whatever waits, what was answered is there already.
      soon(() -> assertThat(waiting(refunds)).isEqualTo(6));

      // What is left of its calls in flight is for others of the provider.
      paid(1);
      send(refunds.subList(6, 8), payments.subList(6, 8));
      // As many wait as may be in flight.
      soon(() -> assertThat(waiting(refunds)).isEqualTo(8));
      String next = fixture.pay("pm_card");
      for (int i = 0; i < 3; i++) {
        List<String> ids = second.payAll(12, "pm_card");
        soon(() -> assertThat(second.count(ids, PaymentStatus.SUCCEEDED)).isEqualTo(12));
      }
      // For longer than a lease: nothing is let go, nobody is called again.
      await()
          .during(Duration.ofSeconds(2))
          .atMost(Duration.ofSeconds(10))
          .until(
              () ->
                  refunds.stream()
                      .allMatch(id -> fixture.refundAttempts(id).equals(List.of("CALL -"))));
      assertThat(fixture.nextAction(next)).isEqualTo("CALL");
      assertThat(fixture.attempts(next)).isEmpty();
      assertThat(worker.health()).isEqualTo("ok");
      person.rollback();

      refunds.forEach(id -> awaitStatus(id, RefundStatus.SUCCEEDED));
      awaitPaid(next);
      assertThat(refunds)
          .allMatch(id -> fixture.refundAttempts(id).equals(List.of("CALL SUCCEEDED")));
      assertThat(simulator.refunds()).hasSize(8);
      soon(() -> assertThat(worker.inFlight()).isZero());
    }
  }

  private void send(List<String> refunds, List<String> payments) throws Exception {
    for (int i = 0; i < refunds.size(); i++) {
      fixture.sendRefund(refunds.get(i), payments.get(i), 100, null);
    }
  }

  private void oneWaits(String payment) {
    assertThat(
            fixture.value(
                """
                SELECT a.http_status || ' ' || a.detail FROM payrelay.attempt a
                JOIN payrelay.operation o USING (operation_id)
                WHERE o.payment_id = :id AND o.kind = 'CHARGE' AND a.outcome IS NULL
                """,
                payment))
        .startsWith("200 answered, not written yet: SUCCEEDED; reference ");
  }

  /** How many have their evidence, and no end. */
  private long waiting(List<String> refunds) {
    return refunds.stream()
        .map(
            id ->
                ofFirst("coalesce(a.outcome, '-') || ' ' || a.http_status || ' ' || a.detail", id))
        .filter(
            said -> said.startsWith("- 200 answered, not written yet: SUCCEEDED; reference re_"))
        .count();
  }

  /** Of a locked table: whoever waits for it holds what others need. */
  @Test
  void nothingThatIsTriedAgainLaterWaitsForLong() {
    ChargeConfig config =
        ChargeConfig.from(Settings.check(Map.of(), ChargeConfig.SETTINGS, ChargeConfig.SETTINGS));
    ProviderLane lane = new ProviderLane(provider, config, "owner", new Random(1));
    ChargeMetrics metrics = new ChargeMetrics(new SimpleMeterRegistry(), List.of(lane));
    List<PaymentProvider> providers = List.of(provider);
    List<Worker> workers =
        List.of(
            new Dispatcher(
                fixture.workerJdbi(),
                List.of(lane),
                config,
                ChargeFaults.NONE,
                outcome -> {},
                () -> false,
                metrics),
            new Sweep(
                fixture.workerJdbi(),
                new Acceptance(
                    fixture.workerJdbi(), providers, InstantSource.system(), ChargeFaults.NONE),
                new RefundAcceptance(
                    fixture.workerJdbi(), providers, InstantSource.system(), ChargeFaults.NONE),
                config,
                metrics,
                () -> {}));
    try (Handle migration = fixture.openAsOwner()) {
      migration.begin();
      migration.execute("LOCK TABLE payrelay.operation IN ACCESS EXCLUSIVE MODE");
      Instant from = Instant.now();
      for (Worker worker : workers) {
        assertThatThrownBy(worker::runOnce)
            .matches(Failures::waitedForALock)
            .matches(failure -> Failures.categoryOf(failure) == Category.RETRIABLE);
      }
      assertThat(Duration.between(from, Instant.now())).isLessThan(Duration.ofSeconds(5));
      migration.rollback();
    }
    assertThat(lane.take(1_000)).isEqualTo(lane.inFlight().max());
  }

  /** Each transaction says so first: by then it has locked nothing. */
  @Test
  void everyTransactionOfTheSweepHasALimit() {
    ChargeConfig config =
        ChargeConfig.from(
            Settings.check(
                Map.of("PAYRELAY_CHARGE_SWEEP_AGE_MS", "0"),
                ChargeConfig.SETTINGS,
                ChargeConfig.SETTINGS));
    DatabaseConfig login = fixture.login();
    // Without a pool: each transaction has a connection of its own.
    Jdbi jdbi =
        Jdbi.create(login.url(), login.user(), login.password().reveal())
            .installPlugin(new PostgresPlugin());
    IdentityHashMap<Connection, List<String>> transactions = new IdentityHashMap<>();
    jdbi.setSqlLogger(
        new SqlLogger() {
          @Override
          public void logBeforeExecution(StatementContext context) {
            transactions
                .computeIfAbsent(context.getConnection(), connection -> new ArrayList<>())
                .add(context.getRenderedSql());
          }
        });
    List<PaymentProvider> providers = List.of(provider);
    InstantSource clock = InstantSource.system();
    Sweep sweep =
        new Sweep(
            jdbi,
            new Acceptance(jdbi, providers, clock, ChargeFaults.NONE),
            new RefundAcceptance(jdbi, providers, clock, ChargeFaults.NONE),
            config,
            new ChargeMetrics(new SimpleMeterRegistry(), List.of()),
            () -> {});
    String payment = ChargeFixture.newId();
    fixture.insert(payment, "pm_card");

    sweep.runOnce();

    assertThat(fixture.nextAction(payment)).isEqualTo("CALL");
    // What waits, payments, their acceptance, refunds, bodies.
    assertThat(transactions.values())
        .hasSizeGreaterThanOrEqualTo(5)
        .allSatisfy(sql -> assertThat(sql.get(0)).contains("'lock_timeout'"));
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
      // It is kept: its lease was renewed.
      soon(
          () ->
              assertThat(ofFirst("a.lease_until > a.started_at + interval '1250 ms'", refund))
                  .isEqualTo("true"));
      worker.close();
      assertThat(fixture.refundAttempts(refund)).containsExactly("CALL UNKNOWN");
      assertEvidence(refund);
      upstream.rollback();
    }

    fixture.worker(provider, FAST);

    awaitStatus(refund, RefundStatus.SUCCEEDED);
    assertThat(fixture.refundAttempts(refund)).startsWith("CALL UNKNOWN");
    assertThat(simulator.refunds()).hasSize(1);
  }

  /** As a migration does. There is no query that would bring back what is let go. */
  @Test
  void keepsEveryAnswerWhileATableIsLocked() throws Exception {
    Map<String, String> settings = new HashMap<>(FAST);
    settings.put("LEASE_MS", "5000");
    settings.put("IN_FLIGHT_MAX", "16");
    ChargeWorker worker = fixture.worker(fixture.providerWithoutQueries(simulator), settings);
    paid(1);
    List<String> ids;
    List<String> later;
    try (Handle migration = fixture.openAsOwner()) {
      migration.begin();
      migration.execute("LOCK TABLE payrelay.ledger_posting IN ACCESS EXCLUSIVE MODE");
      ids = fixture.payAll(24, "pm_card");
      List<String> called = ids;
      // As many are called as may be in flight.
      soon(() -> assertThat(renewed(called)).isEqualTo(16));
      later = fixture.payAll(8, "pm_card");
      List<String> waiting = later;
      soon(() -> assertThat(waiting).noneMatch(id -> fixture.nextAction(id).equals("-")));
      // The whole for longer than a lease; nothing is called again, nor for the first time.
      await()
          .during(Duration.ofSeconds(4))
          .atMost(Duration.ofSeconds(15))
          .until(() -> attempts(called).size() == 16 && attempts(waiting).isEmpty());
      assertThat(attempts(called)).containsOnly("CALL -");
      called.stream().filter(id -> !fixture.attempts(id).isEmpty()).forEach(this::oneWaits);
      assertThat(worker.health()).isEqualTo("ok");
      migration.rollback();
    }

    List<String> all = Stream.concat(ids.stream(), later.stream()).toList();
    soon(() -> assertThat(fixture.count(all, PaymentStatus.SUCCEEDED)).isEqualTo(32));
    assertThat(attempts(all)).hasSize(32).containsOnly("CALL SUCCEEDED");
    assertThat(simulator.stats().chargeCalls()).isEqualTo(33);
  }

  /** Asked for all at once: the thread that polls Kafka does not wait for one after the other. */
  @Test
  void saysOfManyAtOnceWhoIsHeld() {
    Acceptance acceptance =
        new Acceptance(
            fixture.workerJdbi(), List.of(provider), InstantSource.system(), ChargeFaults.NONE);
    List<String> held = new ArrayList<>();
    for (int i = 0; i < 60; i++) {
      held.add(ChargeFixture.newId());
      fixture.insert(held.get(i), "pm_card");
    }
    List<String> asked = List.of(ChargeFixture.newId(), ChargeFixture.newId());
    fixture.insert(asked.get(0), "pm_card");
    fixture.insertRow(asked.get(1), "{\"payment_method\": {\"token\": \"x\"}}");
    List<Trigger> triggers =
        Stream.concat(held.stream(), asked.stream()).map(id -> new Trigger(id, null)).toList();
    List<Verdict> verdicts;
    Instant from;
    try (Handle frozen = fixture.openAsOwner()) {
      frozen.begin();
      lock(frozen, held, "FOR UPDATE");
      // As an upstream does that asks for a refund: it lets an operation be made, and no change.
      lock(frozen, asked, "FOR NO KEY UPDATE");
      from = Instant.now();
      verdicts = acceptance.accept(triggers);
      frozen.rollback();
    }

    assertThat(Duration.between(from, Instant.now())).isLessThan(Duration.ofSeconds(3));
    assertThat(verdicts.subList(0, 60)).containsOnly(Verdict.HELD);
    assertThat(verdicts.subList(60, 62)).containsExactly(Verdict.DONE, Verdict.HELD);
    assertThat(acceptance.accept(triggers).subList(59, 62))
        .containsExactly(Verdict.DONE, Verdict.DONE, Verdict.REFUSED);
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
      lock(frozen, List.of(held), "FOR UPDATE");
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

  private static void lock(Handle tx, List<String> payments, String strength) {
    tx.createQuery(
            "SELECT 1 FROM payrelay.payment WHERE payment_id = ANY (:ids) ORDER BY payment_id "
                + strength)
        .bindArray("ids", String.class, payments)
        .mapTo(Integer.class)
        .list();
  }

  private List<String> attempts(List<String> payments) {
    return payments.stream().flatMap(id -> fixture.attempts(id).stream()).toList();
  }

  private long renewed(List<String> payments) {
    return payments.stream()
        .filter(
            id ->
                fixture
                    .value(
                        """
                        SELECT (a.lease_until > a.started_at + interval '5100 ms')::text
                        FROM payrelay.attempt a JOIN payrelay.operation o USING (operation_id)
                        WHERE o.payment_id = :id
                        """,
                        id)
                    .equals("true"))
        .count();
  }

  private void assertEvidence(String refund) {
    assertThat(
            ofFirst(
                "a.http_status || ' ' || a.detail || ' ' || convert_from(a.response_body, 'UTF8')",
                refund))
        .startsWith("200 let go")
        .contains("the answer was SUCCEEDED", "\"" + refund + "\"");
    assertThat(ofFirst("o.provider_reference", refund)).startsWith("re_");
  }

  /** Of a refund's first attempt. */
  private String ofFirst(String expression, String refund) {
    return fixture.value(
        "SELECT (%s)::text FROM payrelay.attempt a JOIN payrelay.operation o USING (operation_id)"
                .formatted(expression)
            + " WHERE o.refund_id = :id AND a.attempt_number = 1",
        refund);
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
