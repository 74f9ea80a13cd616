package io.payrelay.payments.store;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.money.Money;
import io.payrelay.payments.store.BacklogStore.Waiting;
import io.payrelay.platform.database.LockLimit;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.jdbi.v3.core.Handle;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Operations from their acceptance to the removal of their bodies. */
@Timeout(120)
class OperationStoreIT {

  private static final ClaimTerms TERMS =
      new ClaimTerms(
          "test", Duration.ofSeconds(90), Duration.ofMinutes(10), Duration.ofDays(3), true);

  private static final ClaimTerms OVER_AT_ONCE =
      new ClaimTerms("test", Duration.ZERO, TERMS.keySafe(), TERMS.resolveHorizon(), true);

  private static PaymentsDatabase database;

  private final OperationStore operations = new OperationStore();

  @BeforeAll
  static void migrate() throws SQLException {
    database = new PaymentsDatabase();
  }

  @AfterAll
  static void close() {
    database.close();
  }

  @Test
  void remembersWhatTheProviderCallsACharge() {
    Claim first = claimed("reference_1", "simulator");
    assertThat(first.providerReference()).isNull();

    finish(first, AttemptOutcome.PENDING, null, "pi_1", OperationAction.QUERY);
    Claim second = claim("simulator").get(0);
    assertThat(second.providerReference()).isEqualTo("pi_1");
    finish(second, AttemptOutcome.PENDING, null, "pi_2", OperationAction.QUERY);
    database
        .ingest
        .jdbi()
        .useTransaction(tx -> operations.keepReferences(tx, Map.of("reference_1", "pi_3")));

    assertThat(claim("simulator").get(0).providerReference()).isEqualTo("pi_1");
    assertThatThrownBy(() -> update("provider_reference = 'pi_4' WHERE payment_id = 'reference_1'"))
        .hasMessageContaining("is set once");
    settle("reference_1");
    assertThat(claim("simulator")).isEmpty();
  }

  @Test
  void remembersWithWhatItWasFirstDeclined() {
    Claim first = claimed("declined_01", "decliner");
    assertThat(first.declinedWith()).isNull();

    finish(first, AttemptOutcome.DECLINED, "no_money", "pi_1", OperationAction.CANCEL);
    Claim cancel = claim("decliner").get(0);
    assertThat(cancel.action()).isEqualTo(OperationAction.CANCEL);
    assertThat(cancel.declinedWith()).isEqualTo("no_money");
    finish(cancel, AttemptOutcome.DECLINED, "canceled", "pi_1", OperationAction.QUERY);

    assertThat(claim("decliner").get(0).declinedWith()).isEqualTo("no_money");
  }

  @Test
  void opensWhatWasLeftToAPersonForQueriesOnly() {
    Claim call = claimed("reopened_1", "reopener");
    queryNow("reopened_1");
    // In flight: its own answer comes first, and nothing is taken back.
    finish(call, AttemptOutcome.UNKNOWN, null, null, null);
    assertThat(call.queriesOnly()).isFalse();

    queryNow("reopened_1");
    queryNow("reopened_1");

    Claim query = claim("reopener").get(0);
    assertThat(query.action()).isEqualTo(OperationAction.QUERY);
    assertThat(query.queriesOnly()).isTrue();
    assertThatThrownBy(
            () ->
                update(
                    "next_action = 'CALL', next_action_at = now() WHERE payment_id = 'reopened_1'"))
        .hasMessageContaining("operation_queries_only_never_calls");
    assertThatThrownBy(() -> update("queries_only = false WHERE payment_id = 'reopened_1'"))
        .hasMessageContaining("nothing is sent under it any more");
    settle("reopened_1");
    queryNow("reopened_1");
    assertThat(claim("reopener")).isEmpty();
  }

  /** After a backup was restored there may have been a call that nobody here knows of. */
  @Test
  void countsAKeyFromTheRequestWhereNobodyCanBeAskedWhatAnEarlierCallDid() {
    for (String asked : List.of("asked", "unasked")) {
      requestedAgo(asked + "_young", asked, "9 minutes");
      requestedAgo(asked + "_old", asked, "11 minutes");
    }

    List<Claim> claims = new ArrayList<>(claim("asked"));
    claims.addAll(
        database
            .worker
            .jdbi()
            .inTransaction(
                tx ->
                    operations
                        .take(
                            tx,
                            "unasked",
                            10,
                            new ClaimTerms(
                                "test",
                                TERMS.lease(),
                                TERMS.keySafe(),
                                TERMS.resolveHorizon(),
                                /* asks= */ false))
                        .claims()));

    Map<String, Claim> byPayment = new HashMap<>();
    claims.forEach(claim -> byPayment.put(claim.paymentId(), claim));
    assertThat(byPayment)
        .hasSize(4)
        .allSatisfy(
            (id, claim) ->
                assertThat(claim.action())
                    .as(id)
                    .isEqualTo(id.endsWith("old") ? OperationAction.QUERY : OperationAction.CALL));
    assertThat(byPayment.get("asked_young").keySafeLeft()).isGreaterThan(Duration.ofMinutes(9));
    assertThat(byPayment.get("unasked_young").keySafeLeft()).isLessThan(Duration.ofMinutes(1));
  }

  private void requestedAgo(String id, String provider, String age) {
    database
        .owner
        .jdbi()
        .useHandle(
            handle ->
                handle.execute(
                    """
                    INSERT INTO payrelay.payment (payment_id, merchant, merchant_order_id, provider, amount_minor,
                      currency, created_at)
                    VALUES (?, 'shop', ?, ?, 1250, 'EUR', clock_timestamp() - ?::interval)
                    """,
                    id,
                    id,
                    provider,
                    age));
    operation(id, provider);
  }

  @Test
  void renewsOnlyAttemptsThatAreStillOurs() {
    Claim ours = claimed("renewed_01", "renewer");
    Claim done = claimed("renewed_02", "renewer");
    finish(done, AttemptOutcome.UNKNOWN, null, null, null);

    database
        .worker
        .jdbi()
        .useTransaction(
            tx ->
                operations.renew(
                    tx, List.of(ours.attemptId(), done.attemptId()), Duration.ofHours(5)));

    assertThat(
            database.column(
                "SELECT (lease_until > now() + interval '4 hours')::text FROM payrelay.attempt"
                    + " WHERE attempt_id IN (%d, %d) ORDER BY attempt_id"
                        .formatted(ours.attemptId(), done.attemptId())))
        .containsExactly("true", "false");
  }

  @Test
  void removesBodiesAfterTheEndAndKeepsTheDigest() {
    String digest = "SELECT encode(request_digest, 'hex') FROM payrelay.operation";
    for (String id : List.of("wiped_001", "wiped_002", "waiting_01")) {
      Claim claim = claimed(id, "wiper");
      finish(claim, AttemptOutcome.SUCCEEDED, null, "pi_" + id, null);
    }
    settle("wiped_001");
    settle("wiped_002");
    String before = database.value(digest + " WHERE payment_id = 'wiped_001'");

    assertThat(wipe(Duration.ofHours(1), 10)).isZero();
    assertThatThrownBy(
            () -> update("request_body = '', wiped_at = now() WHERE payment_id = 'waiting_01'"))
        .hasMessageContaining("before it and what it is for have their end");
    assertThatThrownBy(
            () -> update("request_body = 'x', wiped_at = now() WHERE payment_id = 'wiped_001'"))
        .hasMessageContaining("its bytes for good");
    assertThatThrownBy(() -> update("request_body = '' WHERE payment_id = 'wiped_001'"))
        .hasMessageContaining("its bytes for good");
    assertThat(wipe(Duration.ZERO, 1)).isEqualTo(1);
    assertThat(wipe(Duration.ZERO, 100)).isGreaterThanOrEqualTo(1);

    assertThat(bodies("wiped_001")).isEqualTo("0 true 0");
    assertThat(bodies("wiped_002")).isEqualTo("0 true 0");
    assertThat(bodies("waiting_01")).isEqualTo("4 false 1");
    assertThat(database.value(digest + " WHERE payment_id = 'wiped_001'")).isEqualTo(before);
    // Somebody contradicts the end, and the provider is asked: that answer has its own time.
    database
        .ingest
        .jdbi()
        .useTransaction(tx -> operations.queryThoughSettled(tx, List.of("wiped_002")));
    finish(claim("wiper").get(0), AttemptOutcome.NOT_FOUND, null, null, null);
    assertThat(wipe(Duration.ofHours(1), 10)).isZero();
    assertThat(bodies("wiped_002")).isEqualTo("0 true 1");
    assertThat(wipe(Duration.ZERO, 10)).isEqualTo(1);
    assertThat(bodies("wiped_002")).isEqualTo("0 true 0");
    assertThat(wipe(Duration.ZERO, 10)).isZero();
    assertThatThrownBy(() -> update("wiped_at = NULL WHERE payment_id = 'wiped_001'"))
        .hasMessageContaining("its bytes for good");
    assertThatThrownBy(
            () ->
                update(
                    "next_action = 'CALL', next_action_at = now() WHERE payment_id = 'wiped_001'"))
        .hasMessageContaining("operation_wiped_is_never_sent");
  }

  /** An attempt that somebody looks at with FOR UPDATE keeps nobody else from being claimed. */
  @Test
  void abandonsWhatNobodyHoldsAndSaysHowMuch() {
    accept("abandoned_1", "abandoner");
    accept("abandoned_2", "abandoner");
    List<Claim> first = take("abandoner", OVER_AT_ONCE).claims();
    OperationStore.Claimed besides;
    try (Handle person = database.owner.jdbi().open()) {
      person.begin();
      person.execute(
          "SELECT 1 FROM payrelay.attempt WHERE attempt_id = ? FOR UPDATE",
          first.get(0).attemptId());
      besides = take("abandoner", TERMS);
      person.rollback();
    }

    assertThat(besides.claims())
        .extracting(Claim::paymentId)
        .containsExactly(first.get(1).paymentId());
    assertThat(besides.abandonedCharges()).isEqualTo(1);
    assertThat(besides.abandonedRefunds()).isZero();
    // One that has its end meanwhile is abandoned, and no claim follows.
    settle(first.get(0).paymentId());
    OperationStore.Claimed settled = take("abandoner", TERMS);
    assertThat(settled.claims()).isEmpty();
    assertThat(settled.abandonedCharges()).isEqualTo(1);
    assertThat(take("abandoner", TERMS).abandonedCharges()).isZero();
  }

  /** With a slow rate limit, or a breaker that tries a provider, there is one place. */
  @Test
  void claimsWhatIsBehindAnAttemptThatSomebodyHoldsWithOnePlaceOnly() {
    accept("behind_001", "behind");
    accept("behind_002", "behind");
    accept("behind_003", "behind");
    List<Claim> held = take("behind", OVER_AT_ONCE).claims();
    accept("behind_004", "behind");
    OperationStore.Claimed besides;
    OperationStore.Claimed nothing;
    try (Handle person = database.owner.jdbi().open()) {
      person.begin();
      person
          .createQuery("SELECT 1 FROM payrelay.attempt WHERE attempt_id = ANY (:ids) FOR UPDATE")
          .bindArray("ids", Long.class, held.stream().map(Claim::attemptId).toList())
          .mapTo(Integer.class)
          .list();
      besides = take("behind", TERMS, 1);
      nothing = take("behind", TERMS, 1);
      person.rollback();
    }

    assertThat(held).hasSize(3);
    assertThat(besides.claims()).extracting(Claim::paymentId).containsExactly("behind_004");
    assertThat(besides.abandonedCharges()).isZero();
    assertThat(nothing.claims()).isEmpty();
    assertThat(take("behind", TERMS, 1).abandonedCharges()).isEqualTo(1);
    assertThat(take("behind", TERMS).claims()).hasSize(2);
  }

  /** As a person does who looks at it. */
  @Test
  void wipesAllButThatOfWhichSomebodyHoldsAnAnswer() {
    List<Claim> ended = new ArrayList<>();
    for (String id : List.of("looked_at1", "looked_at2")) {
      Claim claim = claimed(id, "looker");
      finish(claim, AttemptOutcome.SUCCEEDED, null, "pi_" + id, null);
      settle(id);
      ended.add(claim);
    }
    try (Handle person = database.owner.jdbi().open()) {
      person.begin();
      person.execute(
          "SELECT 1 FROM payrelay.attempt WHERE attempt_id = ? FOR UPDATE",
          ended.get(0).attemptId());
      wipe(Duration.ZERO, 100);
      assertThat(bodies("looked_at1")).isEqualTo("4 false 1");
      assertThat(bodies("looked_at2")).isEqualTo("0 true 0");
      person.rollback();
    }

    assertThat(wipe(Duration.ZERO, 100)).isEqualTo(1);
    assertThat(bodies("looked_at1")).isEqualTo("0 true 0");
  }

  @Test
  void keepsWhatIsAnsweredAfterTheLeaseAndOverwritesNothing() throws Exception {
    accept("late_00001", "late");
    Claim first = take("late", OVER_AT_ONCE).claims().get(0);
    Claim second;
    CompletableFuture<Integer> late;
    try (Handle other = database.worker.jdbi().open()) {
      other.begin();
      second = operations.take(other, "late", 10, OVER_AT_ONCE).claims().get(0);
      // It waits for the operation, and sees the attempt as it was before.
      late = CompletableFuture.supplyAsync(() -> end(first, AttemptOutcome.SUCCEEDED, "a", "pi_1"));
      await()
          .atMost(Duration.ofSeconds(20))
          .until(
              () ->
                  !database
                      .value(
                          "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'")
                      .equals("0"));
      other.commit();
    }

    assertThat(late.get()).isZero();
    String kept =
        "ABANDONED 200 answered after its lease was over: SUCCEEDED; reference pi_1 a pi_1 CALL";
    assertThat(evidence(first)).isEqualTo(kept);
    assertThat(end(first, AttemptOutcome.DECLINED, "b", "pi_2")).isZero();
    assertThat(evidence(first)).isEqualTo(kept);
    // What cannot be written yet is kept with the attempt, and by whom it is held is told.
    try (Handle person = database.owner.jdbi().open()) {
      person.begin();
      person.execute(
          "SELECT 1 FROM payrelay.attempt WHERE attempt_id = ? FOR UPDATE", second.attemptId());
      assertThat(keep(second)).containsExactly(second.attemptId());
      person.rollback();
    }
    assertThat(keep(second)).isEmpty();
    assertThat(evidence(second))
        .isEqualTo("- 200 answered, not written yet: PENDING; reference pi_3 c pi_1 CALL");
    Claim third = take("late", TERMS).claims().get(0);
    assertThat(end(second, AttemptOutcome.SUCCEEDED, "d", null)).isZero();
    assertThat(evidence(second)).startsWith("ABANDONED 200 answered, not").contains("pi_3 c pi_1");
    assertThat(end(third, AttemptOutcome.SUCCEEDED, "e", null)).isEqualTo(1);

    settle("late_00001");
    wipe(Duration.ZERO, 100);
    assertThat(bodies("late_00001")).isEqualTo("0 true 0");
  }

  /** The operation was wiped before: the body has its own time. */
  @Test
  void wipesWhatIsAnsweredToAnAbandonedAttemptAfterTheOperationWasWiped() {
    accept("later_0001", "later");
    Claim first = take("later", OVER_AT_ONCE).claims().get(0);
    assertThat(end(take("later", TERMS).claims().get(0), AttemptOutcome.SUCCEEDED, "a", null))
        .isEqualTo(1);
    settle("later_0001");
    wipe(Duration.ZERO, 100);
    assertThat(bodies("later_0001")).isEqualTo("0 true 0");

    assertThat(end(first, AttemptOutcome.SUCCEEDED, "b", null)).isZero();

    assertThat(wipe(Duration.ofHours(1), 100)).isZero();
    assertThat(bodies("later_0001")).isEqualTo("0 true 1");
    wipe(Duration.ZERO, 100);
    assertThat(bodies("later_0001")).isEqualTo("0 true 0");
  }

  private OperationStore.Claimed take(String provider, ClaimTerms terms) {
    return take(provider, terms, 10);
  }

  private OperationStore.Claimed take(String provider, ClaimTerms terms, int limit) {
    return database
        .worker
        .jdbi()
        .inTransaction(
            tx -> {
              LockLimit.set(tx, Duration.ofSeconds(1));
              return operations.take(tx, provider, limit, terms);
            });
  }

  private static FinishedAttempt ended(
      Claim claim, AttemptOutcome outcome, String body, String reference) {
    return new FinishedAttempt(
        claim.operationId(),
        claim.attemptId(),
        outcome,
        200,
        body.getBytes(UTF_8),
        null,
        reference,
        null,
        Duration.ZERO);
  }

  private int end(Claim claim, AttemptOutcome outcome, String body, String reference) {
    return database
        .worker
        .jdbi()
        .<Integer, RuntimeException>inTransaction(
            tx -> operations.finish(tx, List.of(ended(claim, outcome, body, reference))));
  }

  private static List<Long> keep(Claim claim) {
    return database
        .worker
        .jdbi()
        .inTransaction(
            tx ->
                new EvidenceStore()
                    .keep(tx, List.of(ended(claim, AttemptOutcome.PENDING, "c", "pi_3"))));
  }

  /** Of the attempt: outcome, status, detail, body; then the operation's reference and action. */
  private static String evidence(Claim claim) {
    return database.value(
        """
        SELECT concat_ws(' ', coalesce(a.outcome, '-'), a.http_status, a.detail, convert_from(a.response_body, 'UTF8'),
          o.provider_reference, o.next_action)
        FROM payrelay.attempt a JOIN payrelay.operation o USING (operation_id) WHERE a.attempt_id = %d
        """
            .formatted(claim.attemptId()));
  }

  @Test
  void countsWhatWaitsForEachProvider() {
    accept("backlog_01", "waiter");
    accept("backlog_03", "waiter");
    for (Claim claim : claim("waiter")) {
      // Of what is PENDING the provider has told that it is there: its key may expire.
      boolean pending = claim.paymentId().equals("backlog_03");
      finish(
          claim,
          pending ? AttemptOutcome.PENDING : AttemptOutcome.UNKNOWN,
          null,
          null,
          OperationAction.QUERY);
      database.apply(
          database.worker.jdbi(),
          List.of(
              Fact.plain(
                  FactSource.RESPONSE,
                  "waiter",
                  claim.paymentId(),
                  pending ? Observation.PENDING : Observation.UNKNOWN,
                  null,
                  Instant.now(),
                  Map.of())));
    }
    accept("backlog_02", "waiter");

    Waiting near = backlog(Duration.ofMinutes(11)).get("waiter");
    assertThat(near.unknownCount()).isEqualTo(1);
    assertThat(near.unknownAgeMaxMs()).isPositive();
    assertThat(near.dueCount()).isEqualTo(3);
    assertThat(near.keysNearExpiry()).isEqualTo(1);
    assertThat(backlog(Duration.ofMinutes(9)).get("waiter").keysNearExpiry()).isZero();
    assertThat(
            database
                .worker
                .jdbi()
                .<Map<String, Long>, RuntimeException>inTransaction(
                    tx -> new BacklogStore().openCases(tx)))
        .isEmpty();
  }

  private static Map<String, Waiting> backlog(Duration near) {
    return database.worker.jdbi().inTransaction(tx -> new BacklogStore().charges(tx, near));
  }

  private void accept(String id, String provider) {
    database.requestFrom(provider, id, 1250);
    operation(id, provider);
  }

  private void operation(String id, String provider) {
    database
        .worker
        .jdbi()
        .useTransaction(
            tx ->
                operations.accept(
                    tx,
                    List.of(
                        new NewOperation(
                            id,
                            provider,
                            "key-" + id,
                            "body".getBytes(UTF_8),
                            null,
                            OperationAction.CALL))));
  }

  private Claim claimed(String id, String provider) {
    accept(id, provider);
    return claim(provider).stream()
        .filter(claim -> claim.paymentId().equals(id))
        .findFirst()
        .orElseThrow();
  }

  private List<Claim> claim(String provider) {
    return database
        .worker
        .jdbi()
        .inTransaction(tx -> operations.take(tx, provider, 10, TERMS).claims());
  }

  private void finish(
      Claim claim, AttemptOutcome outcome, String detail, String reference, OperationAction next) {
    FinishedAttempt finished =
        new FinishedAttempt(
            claim.operationId(),
            claim.attemptId(),
            outcome,
            200,
            new byte[] {'a'},
            detail,
            reference,
            next,
            Duration.ZERO);
    assertThat(
            database
                .worker
                .jdbi()
                .<Integer, RuntimeException>inTransaction(
                    tx -> operations.finish(tx, List.of(finished))))
        .isEqualTo(1);
  }

  private static void queryNow(String id) {
    database.ingest.jdbi().useTransaction(tx -> new OperationStore().queryNow(tx, List.of(id)));
  }

  private static int wipe(Duration olderThan, int limit) {
    return database
        .worker
        .jdbi()
        .<Integer, RuntimeException>inTransaction(
            tx -> {
              LockLimit.set(tx, Duration.ofSeconds(1));
              return new BodyRetention().wipe(tx, olderThan, limit);
            });
  }

  /** Bytes of the request, whether it is wiped, and how many answers are kept. */
  private static String bodies(String id) {
    return database.value(
        """
        SELECT octet_length(request_body) || ' ' || (wiped_at IS NOT NULL) || ' ' ||
          (SELECT count(a.response_body) FROM payrelay.attempt a WHERE a.operation_id = o.operation_id)
        FROM payrelay.operation o WHERE payment_id = '%s'
        """
            .formatted(id));
  }

  private static void update(String rest) {
    database
        .worker
        .jdbi()
        .useHandle(handle -> handle.execute("UPDATE payrelay.operation SET " + rest));
  }

  private static void settle(String id) {
    String provider =
        database.value("SELECT provider FROM payrelay.payment WHERE payment_id = '" + id + "'");
    database.apply(
        database.worker.jdbi(),
        List.of(
            new Fact(
                FactSource.WEBHOOK,
                provider,
                id,
                Observation.SUCCEEDED,
                "tx_" + id,
                new Money(1250, "EUR"),
                null,
                null,
                null,
                Instant.now(),
                Map.of())));
  }
}
