package io.payrelay.chargeworker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.payrelay.payments.lifecycle.PaymentStatus;
import io.payrelay.payments.store.OperationStore;
import io.payrelay.providers.generic.GenericProvider;
import io.payrelay.schemas.Topic;
import io.payrelay.simulator.Fault;
import io.payrelay.simulator.ProviderSimulator;
import io.payrelay.simulator.QueryFault;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/**
 * How the worker behaves towards providers, Kafka and clocks. "Source" names the failure reports of
 * which a test is the kind.
 */
@Timeout(60)
class ChargeMannersIT {

  private static final Map<String, String> FAST =
      Map.of(
          "CALL_TIMEOUT_MS", "400",
          "LEASE_MS", "1500",
          "QUERY_DELAYS_MS", "50,100,200",
          "QUERY_DELAY_CAP_MS", "400",
          "RETRY_FIRST_MS", "50",
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
  void oneProviderThatHangsStopsNobodyElse() throws Exception {
    ProviderSimulator hanging =
        fixture.simulator(fixture.simulatorConfig().latency(Duration.ofSeconds(20)));
    try (ChargeFixture other = new ChargeFixture()) {
      ProviderSimulator healthy = other.simulator(other.simulatorConfig());
      ChargeWorker worker =
          fixture.worker(
              List.of(fixture.provider(hanging), other.provider(healthy)),
              Map.of(
                  "CALL_TIMEOUT_MS", "15000",
                  "LEASE_MS", "30000",
                  "IN_FLIGHT_MAX", "8",
                  "STOP_LIMIT_MS", "0"),
              ChargeFaults.NONE,
              Map.of(),
              Clock.systemUTC());
      List<String> stuck = fixture.payAll(40, "pm_card");
      await().until(() -> worker.inFlight() == 8);

      List<String> served = other.payAll(40, "pm_card");

      await()
          .atMost(Duration.ofSeconds(8))
          .until(() -> other.count(served, PaymentStatus.SUCCEEDED) == 40);
      assertThat(fixture.count(stuck, PaymentStatus.CREATED)).isEqualTo(40);
      // Bounded: what is not in flight there has no attempt and no lease.
      assertThat(stuck.stream().filter(id -> !fixture.attempts(id).isEmpty()).count()).isEqualTo(8);
    }
  }

  @Test
  void comesBackNoEarlierThanAProviderAsksFor() throws Exception {
    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig());
    fixture.worker(fixture.provider(simulator), FAST);
    String id = ChargeFixture.newId();
    simulator.script(id, Fault.RATE_LIMITED);
    fixture.insert(id, "pm_card");

    fixture.send(id);

    awaitStatus(id, PaymentStatus.SUCCEEDED);
    assertThat(fixture.attempts(id)).containsExactly("CALL NOT_PROCESSED", "CALL SUCCEEDED");
    assertThat(
            fixture.value(
                """
                SELECT (max(a.started_at) - min(a.finished_at) >= interval '1 second')::text
                FROM payrelay.attempt a JOIN payrelay.operation o USING (operation_id)
                WHERE o.payment_id = :id
                """,
                id))
        .isEqualTo("true");
  }

  /** A proxy's page, of which the result is unknown: its header speaks to all the same. */
  @Test
  void claimsNothingForAProviderThatAsksUsToStayAwayAndGoesOnElsewhere() throws Exception {
    StubProvider stub = fixture.stub();
    try (ChargeFixture other = new ChargeFixture()) {
      fixture.worker(
          List.of(fixture.provider(stub), other.provider(other.simulator(other.simulatorConfig()))),
          FAST,
          ChargeFaults.NONE,
          Map.of(),
          Clock.systemUTC());
      String busy = ChargeFixture.newId();
      String behind = ChargeFixture.newId();
      fixture.insert(busy, "pm_card");
      fixture.insert(behind, "pm_card");
      StubProvider.Reply paid =
          StubProvider.Reply.json(200, StubProvider.charge(behind, "succeeded", ""));
      stub.on(busy, call -> new StubProvider.Reply(503, "text/html", "<p>busy</p>", "3"));
      stub.on(behind, call -> paid);
      fixture.send(busy);
      await().until(() -> fixture.attempts(busy).contains("CALL UNKNOWN"));

      fixture.send(behind);
      String elsewhere = other.pay("pm_card");

      awaitStatus(behind, PaymentStatus.SUCCEEDED);
      assertThat(other.payment(elsewhere).status()).isEqualTo(PaymentStatus.SUCCEEDED);
      assertThat(startedMs(behind, 1) - startedMs(busy, 1)).isGreaterThan(2_900);
      assertThat(startedMs(elsewhere, 1)).isLessThan(startedMs(behind, 1));
      await().until(() -> fixture.attempts(busy).size() > 1);
      assertThat(startedMs(busy, 2) - startedMs(busy, 1)).isGreaterThan(2_900);
    }
  }

  private long startedMs(String id, int attempt) {
    return Long.parseLong(
        fixture.value(
            """
            SELECT (extract(epoch FROM a.started_at) * 1000)::bigint::text
            FROM payrelay.attempt a JOIN payrelay.operation o USING (operation_id)
            WHERE o.payment_id = :id AND a.attempt_number = %d
            """
                .formatted(attempt),
            id));
  }

  @Test
  void finishesItsCallsWhenItStopsOrLeavesThemToTheNext() throws Exception {
    ProviderSimulator simulator =
        fixture.simulator(fixture.simulatorConfig().latency(Duration.ofMillis(700)));
    GenericProvider provider = fixture.provider(simulator);
    ChargeWorker patient =
        fixture.worker(provider, Map.of("CALL_TIMEOUT_MS", "5000", "STOP_LIMIT_MS", "5000"));
    String finished = fixture.pay("pm_card");
    await().until(() -> fixture.attempts(finished).size() == 1);
    patient.close();
    assertThat(fixture.payment(finished).status()).isEqualTo(PaymentStatus.SUCCEEDED);

    ChargeWorker hasty =
        fixture.worker(
            provider, Map.of("CALL_TIMEOUT_MS", "1000", "LEASE_MS", "2000", "STOP_LIMIT_MS", "50"));
    String left = fixture.pay("pm_card");
    await().until(() -> fixture.attempts(left).size() == 1);
    long beforeNs = System.nanoTime();
    hasty.close();

    assertThat(Duration.ofNanos(System.nanoTime() - beforeNs)).isLessThan(Duration.ofSeconds(5));
    fixture.worker(provider, Map.of("CALL_TIMEOUT_MS", "1000", "LEASE_MS", "2000"));
    awaitStatus(left, PaymentStatus.SUCCEEDED);
    assertThat(ChargeFixture.charges(simulator, left)).hasSize(1);
  }

  @Test
  void replayedOffsetsMoveNothing() throws Exception {
    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig());
    GenericProvider provider = fixture.provider(simulator);
    fixture.worker(provider, FAST);
    List<String> ids = fixture.payAll(20, "pm_card");
    String declined = fixture.pay("pm_decline");
    await()
        .atMost(Duration.ofSeconds(20))
        .until(() -> fixture.count(ids, PaymentStatus.SUCCEEDED) == 20);
    awaitStatus(declined, PaymentStatus.FAILED);
    long calls = simulator.stats().chargeCalls();
    long queries = simulator.stats().queries();
    String events =
        "SELECT count(*)::text FROM payrelay.payment_event e JOIN payrelay.payment p USING (payment_id)"
            + " WHERE p.provider = :id";
    String before = fixture.value(events, fixture.provider);

    // Another group reads everything from the earliest offset.
    String group = "replay-" + fixture.provider;
    fixture.worker(provider, Map.of("GROUP_ID", group, "NOT_VISIBLE_LIMIT_MS", "0"));
    await().atMost(Duration.ofSeconds(30)).ignoreExceptions().until(() -> hasReadAll(group));

    assertThat(simulator.stats().chargeCalls()).isEqualTo(calls);
    assertThat(simulator.stats().queries()).isEqualTo(queries);
    assertThat(fixture.value(events, fixture.provider)).isEqualTo(before);
  }

  @Test
  void keepsToTheDatabasesClockWhateverItsOwnSays() throws Exception {
    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig());
    for (Duration skew : List.of(Duration.ofHours(-30), Duration.ofHours(30))) {
      ChargeWorker worker =
          fixture.worker(
              List.of(fixture.provider(simulator)),
              FAST,
              ChargeFaults.NONE,
              Map.of(),
              Clock.offset(Clock.systemUTC(), skew));
      String id = ChargeFixture.newId();
      simulator.script(id, Fault.RESET_AFTER);
      fixture.insert(id, "pm_card");
      fixture.send(id);

      awaitStatus(id, PaymentStatus.SUCCEEDED);
      assertThat(ChargeFixture.charges(simulator, id)).hasSize(1);
      assertThat(
              fixture.value(
                  """
                  SELECT (key_safe_until - clock_timestamp() BETWEEN interval '21 hours' AND interval '21.6 hours')::text
                  FROM payrelay.operation WHERE payment_id = :id
                  """,
                  id))
          .isEqualTo("true");
      worker.close();
    }
  }

  /** A rate of four a second lets payments wait for longer than a key is safe. */
  @Test
  void asksFirstAboutWhatWaitedInTheRateLimiterForLongerThanAKeyIsSafe() throws Exception {
    // Safe for 5 - (2 + 1) s after the first call.
    Duration keyLife = Duration.ofSeconds(5);
    ProviderSimulator simulator =
        fixture.simulator(fixture.simulatorConfig().keyLife(keyLife).notProcessedTimes(1));
    fixture.worker(
        fixture.provider(simulator.baseUrl(), keyLife, Duration.ZERO),
        Map.of(
            "CALL_TIMEOUT_MS", "1000",
            "LEASE_MS", "2000",
            "RATE_PER_SECOND", "4",
            "QUERY_DELAYS_MS", "50",
            "RETRY_FIRST_MS", "20",
            "BREAKER_CALLS_MIN", "5000"));

    List<String> ids = new ArrayList<>(fixture.payAll(14, "pm_card"));
    ids.add(fixture.pay("pm_503"));

    // Paid, or left to a person where the key got unsafe: never in between, and never twice.
    await()
        .atMost(Duration.ofSeconds(40))
        .until(() -> ids.stream().allMatch(id -> fixture.nextAction(id).equals("none")));
    assertThat(fixture.count(ids, PaymentStatus.SUCCEEDED)).isPositive();
    assertThat(simulator.stats().idsChargedTwice()).isZero();
    assertThat(ids).anyMatch(id -> fixture.attempts(id).get(0).equals("QUERY NOT_FOUND"));
    // No repeated call began when its key was not safe any more.
    assertThat(
            fixture.value(
                """
                SELECT count(*)::text FROM payrelay.attempt a JOIN payrelay.operation o USING (operation_id)
                WHERE o.provider = :id AND a.kind = 'CALL' AND a.started_at >= o.key_safe_until
                """,
                fixture.provider))
        .isEqualTo("0");
  }

  // Source: commcare-hq PR 33509 (a key that may be forgotten), and what a person may do then.
  @Test
  void asksOnceMoreWhenAPersonWantsItAndSendsNothingAnyMore() throws Exception {
    Duration keyLife = Duration.ofMillis(1_600);
    ProviderSimulator simulator = fixture.simulator(fixture.simulatorConfig().keyLife(keyLife));
    GenericProvider provider = fixture.provider(simulator.baseUrl(), keyLife, Duration.ZERO);
    fixture.worker(
        provider,
        Map.of(
            "CALL_TIMEOUT_MS", "150",
            "LEASE_MS", "400",
            "QUERY_DELAYS_MS", "100",
            "QUERY_DELAY_CAP_MS", "150",
            "RESOLVE_HORIZON_MS", "1200",
            "BREAKER_CALLS_MIN", "5000"));
    awaitStatus(fixture.pay("pm_card"), PaymentStatus.SUCCEEDED);
    String lost = ChargeFixture.newId();
    String charged = ChargeFixture.newId();
    simulator.script(lost, Fault.RESET_BEFORE);
    simulator.script(charged, Fault.RESET_AFTER);
    for (String id : List.of(lost, charged)) {
      simulator.scriptQueries(
          id, Collections.nCopies(20, QueryFault.UNAVAILABLE).toArray(QueryFault[]::new));
      fixture.insert(id, "pm_card");
      fixture.send(id);
    }
    for (String id : List.of(lost, charged)) {
      await()
          .atMost(Duration.ofSeconds(20))
          .until(() -> fixture.exceptions(id), kinds -> kinds.equals(List.of("UNRESOLVED")));
      assertThat(fixture.payment(id).status()).isEqualTo(PaymentStatus.UNKNOWN);
      assertThat(fixture.nextAction(id)).isEqualTo("none");
    }

    // One question each time, answered or not: what is over the horizon stays with the person.
    for (String id : List.of(lost, charged)) {
      await()
          .atMost(Duration.ofSeconds(30))
          .until(
              () -> {
                if (fixture.nextAction(id).equals("none") && !answered(id)) {
                  queryNow(id);
                }
                return answered(id);
              });
    }

    awaitStatus(charged, PaymentStatus.SUCCEEDED);
    assertThat(fixture.payment(lost).status()).isEqualTo(PaymentStatus.UNKNOWN);
    assertThat(fixture.exceptions(lost)).containsExactly("UNRESOLVED");
    for (String id : List.of(lost, charged)) {
      assertThat(fixture.attempts(id)).filteredOn(one -> one.startsWith("CALL")).hasSize(1);
    }
  }

  // Source: spring-kafka #2266, azure-event-hubs-for-kafka #65, with their own figures.
  @Test
  @Timeout(240)
  @EnabledIfSystemProperty(named = "payrelay.long", matches = "true")
  void keepsItsPartitionsWhileAProviderTakesFortySecondsForEachAnswer() throws Exception {
    ProviderSimulator simulator =
        fixture.simulator(fixture.simulatorConfig().latency(Duration.ofSeconds(40)));
    fixture.worker(
        fixture.provider(simulator),
        Map.of("CALL_TIMEOUT_MS", "60000", "LEASE_MS", "120000", "IN_FLIGHT_MAX", "5"),
        ChargeFaults.NONE,
        Map.of("max.poll.interval.ms", "20000", "session.timeout.ms", "6000"));
    awaitMembers();
    String member = member();

    List<String> ids = fixture.payAll(10, "pm_card");

    await()
        .atMost(Duration.ofSeconds(150))
        .until(() -> fixture.count(ids, PaymentStatus.SUCCEEDED) == 10);
    assertThat(member()).isEqualTo(member);
    assertThat(simulator.stats().chargeCalls()).isEqualTo(10);
  }

  private void queryNow(String id) {
    fixture.workerJdbi().useTransaction(tx -> new OperationStore().queryNow(tx, List.of(id)));
  }

  private boolean answered(String id) {
    return fixture.attempts(id).stream()
        .anyMatch(one -> one.equals("QUERY NOT_FOUND") || one.equals("QUERY SUCCEEDED"));
  }

  private void awaitMembers() {
    await().atMost(Duration.ofSeconds(20)).until(() -> !member().isEmpty());
  }

  private String member() throws Exception {
    try (Admin admin = Admin.create(fixture.kafka().clientProperties("test-admin"))) {
      return admin
          .describeConsumerGroups(List.of(ChargeFixture.GROUP))
          .describedGroups()
          .get(ChargeFixture.GROUP)
          .get()
          .members()
          .stream()
          .filter(one -> !one.assignment().topicPartitions().isEmpty())
          .map(one -> one.consumerId())
          .sorted()
          .toList()
          .toString()
          .replace("[]", "");
    }
  }

  private boolean hasReadAll(String group) throws Exception {
    try (Admin admin = Admin.create(fixture.kafka().clientProperties("test-admin"))) {
      Map<TopicPartition, OffsetAndMetadata> committed =
          admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
      Set<TopicPartition> partitions = committed.keySet();
      Map<TopicPartition, ListOffsetsResult.ListOffsetsResultInfo> ends =
          admin
              .listOffsets(
                  partitions.stream()
                      .collect(
                          Collectors.toMap(
                              partition -> partition, partition -> OffsetSpec.latest())))
              .all()
              .get();
      // Partitions that hold records, all of them: the group reads the topic from its beginning.
      return !partitions.isEmpty()
          && ends.size() >= filled(admin)
          && partitions.stream()
              .allMatch(one -> committed.get(one).offset() == ends.get(one).offset());
    }
  }

  private static long filled(Admin admin) throws Exception {
    Map<TopicPartition, OffsetSpec> all = new HashMap<>();
    for (int partition = 0; partition < 12; partition++) {
      all.put(new TopicPartition(Topic.CHARGE_REQUESTS, partition), OffsetSpec.latest());
    }
    return admin.listOffsets(all).all().get().values().stream()
        .filter(end -> end.offset() > 0)
        .count();
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
