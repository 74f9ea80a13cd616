package io.payrelay.payments.store;

import static io.payrelay.payments.lifecycle.Observation.DISPUTED;
import static io.payrelay.payments.lifecycle.Observation.FAILED;
import static io.payrelay.payments.lifecycle.Observation.PENDING;
import static io.payrelay.payments.lifecycle.Observation.SUCCEEDED;
import static io.payrelay.payments.lifecycle.Observation.UNKNOWN;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.lifecycle.Samples;
import io.payrelay.payments.money.Money;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.Failures;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.EventCodec;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.apache.avro.generic.GenericRecord;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.Jdbi;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(180)
class FactStoreIT {

  private static final Money PRICE = new Money(1250, "EUR");
  private static final Money WRONG = new Money(1, "EUR");

  private static PaymentsDatabase database;
  private static int payments;

  @BeforeAll
  static void migrate() throws SQLException {
    database = new PaymentsDatabase();
  }

  @AfterAll
  static void close() {
    database.close();
  }

  @AfterEach
  void holdsTheInvariants() {
    assertThat(
            database.column(
                """
            SELECT p.payment_id FROM payrelay.payment p
            WHERE p.version <> (SELECT count(*) FROM payrelay.payment_event e
                WHERE e.payment_id = p.payment_id AND e.version BETWEEN 1 AND p.version)
              OR (SELECT count(*) FROM payrelay.payment_event e
                WHERE e.payment_id = p.payment_id AND e.status IN ('SUCCEEDED', 'FAILED'))
                <> (p.status IN ('SUCCEEDED', 'FAILED'))::integer
              OR p.version - 1 <> (SELECT count(DISTINCT (o.payload ->> 'version')) FROM payrelay.outbox o
                WHERE o.aggregate_id = p.payment_id AND o.event_type = 'PaymentStatusChanged')
              OR p.version - 1 <> (SELECT count(*) FROM payrelay.outbox o
                WHERE o.aggregate_id = p.payment_id AND o.event_type = 'PaymentStatusChanged')
            """))
        .as("versions without gaps, one end at most, one outbox row a change")
        .isEmpty();
    assertThat(
            database.column(
                """
            SELECT posting_id FROM payrelay.ledger_entry GROUP BY posting_id, currency
            HAVING sum(CASE side WHEN 'DEBIT' THEN amount_minor ELSE -amount_minor END) <> 0
            """))
        .as("postings that do not balance")
        .isEmpty();
    assertThat(
            database.column(
                """
            SELECT p.payment_id FROM payrelay.payment p WHERE p.status = 'SUCCEEDED' AND NOT EXISTS (
              SELECT FROM payrelay.ledger_posting l WHERE l.payment_id = p.payment_id
                AND l.business_key = 'capture:' || p.provider || ':' || p.provider_transaction_id)
            """))
        .as("SUCCEEDED payments without their money")
        .isEmpty();
  }

  private static String request() {
    return database.request("pay_%06d".formatted(++payments), PRICE.amountMinor());
  }

  private static Fact fact(String id, Observation observation) {
    return Samples.of(id, FactSource.QUERY, "simulator", observation, null, null);
  }

  private static Fact success(String id, String transactionId, Money amount) {
    return Samples.of(id, FactSource.WEBHOOK, "simulator", SUCCEEDED, transactionId, amount);
  }

  private static String status(String id) {
    return database.value("SELECT status FROM payrelay.payment WHERE payment_id = '" + id + "'");
  }

  private static List<String> events(String id) {
    return database.column(
        "SELECT event_type FROM payrelay.payment_event WHERE payment_id = '"
            + id
            + "' ORDER BY payment_event_id");
  }

  private static List<String> cases(String id) {
    return database.column(
        "SELECT kind FROM payrelay.exception_case WHERE payment_id = '"
            + id
            + "' ORDER BY exception_case_id");
  }

  private static List<String> postings(String id) {
    return database.column(
        "SELECT kind FROM payrelay.ledger_posting WHERE payment_id = '"
            + id
            + "' ORDER BY posting_id");
  }

  private static List<Jdbi> processes() {
    return List.of(database.worker.jdbi(), database.ingest.jdbi());
  }

  @Test
  void writesEverythingThatFollowsTogether() throws Exception {
    for (Jdbi process : processes()) {
      String id = request();

      List<FactStore.Applied> applied =
          database.apply(process, List.of(success(id, "tx-" + id, PRICE)));

      assertThat(applied).singleElement().matches(FactStore.Applied::matched);
      assertThat(status(id)).isEqualTo("SUCCEEDED");
      assertThat(events(id))
          .containsExactly("PaymentRequested", "PaymentPending", "PaymentConfirmed");
      assertThat(postings(id)).containsExactly("CAPTURE");
      assertThat(cases(id)).isEmpty();
      assertThat(
              database.column(
                  "SELECT account_id || ' ' || side || ' ' || amount_minor FROM payrelay.ledger_entry"
                      + " JOIN payrelay.ledger_posting USING (posting_id) WHERE payment_id = '"
                      + id
                      + "' ORDER BY entry_number"))
          .containsExactly(
              "provider_receivable:simulator:EUR DEBIT 1250",
              "customer_payments:simulator:EUR CREDIT 1250");
      List<String> payloads =
          database.column(
              "SELECT payload FROM payrelay.outbox WHERE event_type = 'PaymentStatusChanged'"
                  + " AND aggregate_id = '"
                  + id
                  + "' ORDER BY (payload ->> 'version')::int");
      EventCodec codec = new EventCodec(EventCatalogue.builtIn());
      GenericRecord last = codec.decode(codec.encode("PaymentStatusChanged", payloads.get(1)));
      assertThat(last.get("status")).hasToString("SUCCEEDED");
      assertThat(last.get("previous_status")).hasToString("PENDING");
      assertThat(last.get("trace_id")).hasToString("trace-1");
      assertThat(last.get("version")).isEqualTo(3L);
    }
  }

  @Test
  void appliesAWholeBatchInOrder() {
    String one = request();
    String two = request();

    database.apply(
        database.worker.jdbi(),
        List.of(
            fact(one, PENDING),
            fact(two, UNKNOWN),
            fact(one, UNKNOWN),
            success(two, "tx-" + two, PRICE),
            success(one, "tx-" + one, PRICE),
            fact(one, FAILED)));

    assertThat(status(one)).isEqualTo("SUCCEEDED");
    assertThat(status(two)).isEqualTo("SUCCEEDED");
    assertThat(events(one))
        .containsExactly(
            "PaymentRequested",
            "PaymentPending",
            "PaymentUnknown",
            "PaymentConfirmed",
            "FactIgnored");
  }

  @Test
  void writesNothingForAPaymentThatDoesNotExist() {
    List<FactStore.Applied> applied =
        database.apply(database.ingest.jdbi(), List.of(success("nobody_01", "tx-nobody", PRICE)));

    assertThat(applied).singleElement().matches(one -> !one.matched());
    assertThat(
            database.value(
                "SELECT count(*) FROM payrelay.ledger_posting WHERE business_key LIKE '%nobody'"))
        .isEqualTo("0");
  }

  @Test
  void leavesOneTraceOfAConflictHoweverOftenItIsSaid() {
    String id = request();
    Fact wrong = success(id, "tx-" + id, WRONG);

    for (int i = 0; i < 5; i++) {
      database.apply(database.ingest.jdbi(), List.of(wrong, wrong));
      database.apply(database.worker.jdbi(), List.of(wrong));
    }

    assertThat(events(id))
        .containsExactly("PaymentRequested", "PaymentPending", "PaymentUnknown", "FactConflicting");
    assertThat(cases(id)).containsExactly("AMOUNT_MISMATCH");
    assertThat(postings(id)).containsExactly("SUSPENSE_CAPTURE");
  }

  @Test
  void leavesOneTraceOfAFailureAfterSuccessForEachSource() {
    String id = request();
    database.apply(database.worker.jdbi(), List.of(success(id, "tx-" + id, PRICE)));
    Fact byWebhook = Samples.of(id, FactSource.WEBHOOK, "simulator", FAILED, null, null);

    for (int i = 0; i < 5; i++) {
      database.apply(database.worker.jdbi(), List.of(fact(id, FAILED), fact(id, FAILED)));
      database.apply(database.ingest.jdbi(), List.of(byWebhook));
    }

    assertThat(status(id)).isEqualTo("SUCCEEDED");
    assertThat(events(id)).filteredOn("FactIgnored"::equals).hasSize(2);
  }

  @Test
  void booksADisputeOnce() {
    String id = request();
    Fact dispute = Samples.of(id, FactSource.WEBHOOK, "simulator", DISPUTED, "tx-" + id, PRICE);
    database.apply(database.worker.jdbi(), List.of(success(id, "tx-" + id, PRICE), dispute));

    database.apply(database.ingest.jdbi(), List.of(dispute));

    assertThat(postings(id)).containsExactly("CAPTURE", "DISPUTE");
    assertThat(cases(id)).containsExactly("DISPUTED");
    assertThat(events(id)).filteredOn("MoneyReversed"::equals).hasSize(1);
  }

  @Test
  void keepsLateAndDoubleMoneyInSuspense() {
    String late = request();
    String twice = request();
    database.apply(
        database.worker.jdbi(), List.of(fact(late, FAILED), success(twice, "tx-a" + twice, PRICE)));

    database.apply(
        database.ingest.jdbi(),
        List.of(success(late, "tx-" + late, PRICE), success(twice, "tx-b" + twice, PRICE)));

    assertThat(status(late)).isEqualTo("FAILED");
    assertThat(cases(late)).containsExactly("LATE_SUCCESS");
    assertThat(postings(late)).containsExactly("SUSPENSE_CAPTURE");
    assertThat(status(twice)).isEqualTo("SUCCEEDED");
    assertThat(cases(twice)).containsExactly("DOUBLE_CHARGE");
    assertThat(postings(twice)).containsExactly("CAPTURE", "SUSPENSE_CAPTURE");
  }

  @Test
  void givesMoneyInSuspenseToNoOtherPayment() {
    String first = request();
    String second = request();
    String transactionId = "tx-" + first;
    database.apply(database.ingest.jdbi(), List.of(success(first, transactionId, WRONG)));

    database.apply(database.ingest.jdbi(), List.of(success(second, transactionId, PRICE)));

    assertThat(status(second)).isEqualTo("UNKNOWN");
    assertThat(cases(second)).containsExactly("TRANSACTION_CLAIMED_TWICE");
    assertThat(postings(second)).isEmpty();
  }

  @Test
  void seesTwoClaimsInOneBatch() {
    String first = request();
    String second = request();
    String third = request();
    database.apply(
        database.ingest.jdbi(),
        List.of(
            success(first, "tx-" + first, PRICE),
            success(second, "tx-" + first, PRICE),
            success(third, "tx-" + first, WRONG)));

    assertThat(status(first)).isEqualTo("SUCCEEDED");
    assertThat(cases(second)).containsExactly("TRANSACTION_CLAIMED_TWICE");
    assertThat(cases(third)).containsExactly("TRANSACTION_CLAIMED_TWICE");
  }

  @Test
  void keepsMoneyInACurrencyThatNoPaymentCanHave() {
    String id = request();

    database.apply(database.ingest.jdbi(), List.of(success(id, "tx-" + id, new Money(5, "XAU"))));

    assertThat(status(id)).isEqualTo("UNKNOWN");
    assertThat(cases(id)).containsExactly("CURRENCY_MISMATCH");
    assertThat(postings(id)).containsExactly("SUSPENSE_CAPTURE");
    assertThat(balances(id))
        .containsExactly("provider_receivable:simulator:XAU 5", "suspense:simulator:XAU -5");
  }

  @Test
  void failsNoPaymentWhoseMoneyIsInSuspense() {
    String later = request();
    String atOnce = request();
    database.apply(database.ingest.jdbi(), List.of(success(later, "tx-" + later, WRONG)));

    database.apply(database.worker.jdbi(), List.of(fact(later, FAILED)));
    database.apply(
        database.worker.jdbi(),
        List.of(fact(later, FAILED), success(atOnce, "tx-" + atOnce, WRONG), fact(atOnce, FAILED)));

    for (String id : List.of(later, atOnce)) {
      assertThat(status(id)).isEqualTo("UNKNOWN");
      assertThat(cases(id)).containsExactly("AMOUNT_MISMATCH", "FAILED_AFTER_CAPTURE");
      assertThat(events(id)).filteredOn("FactConflicting"::equals).hasSize(2);
    }
  }

  @Test
  void takesMoneyOutOfSuspenseWhenThePaymentExplainsIt() {
    String later = requestFor("payee");
    String atOnce = requestFor("payee");
    Fact strangeLater = success(later, "tx-" + later, PRICE, "thief");
    database.apply(database.ingest.jdbi(), List.of(strangeLater));
    assertThat(balances(later))
        .containsExactly("provider_receivable:simulator:EUR 1250", "suspense:simulator:EUR -1250");

    database.apply(
        database.worker.jdbi(),
        List.of(
            success(later, "tx-" + later, PRICE, "payee"),
            success(atOnce, "tx-" + atOnce, PRICE, "thief"),
            success(atOnce, "tx-" + atOnce, PRICE, "payee")));
    database.apply(
        database.ingest.jdbi(),
        List.of(strangeLater, success(later, "tx-" + later, PRICE, "payee")));

    for (String id : List.of(later, atOnce)) {
      assertThat(status(id)).isEqualTo("SUCCEEDED");
      assertThat(cases(id)).containsExactly("PAYEE_MISMATCH");
      assertThat(postings(id)).containsExactly("SUSPENSE_CAPTURE", "ADJUSTMENT");
      assertThat(balances(id))
          .containsExactly(
              "customer_payments:simulator:EUR -1250",
              "provider_receivable:simulator:EUR 1250",
              "suspense:simulator:EUR 0");
      assertThat(
              database.value(
                  "SELECT a.business_key || ' ' || s.business_key FROM payrelay.ledger_posting a"
                      + " JOIN payrelay.ledger_posting s ON s.posting_id = a.reverses_posting_id"
                      + " WHERE a.payment_id = '%s'".formatted(id)))
          .isEqualTo("adjust:capture:simulator:tx-%s capture:simulator:tx-%s".formatted(id, id));
    }
  }

  @Test
  void dropsNoMoneyThatIsBookedOtherwiseSilently() {
    String id = request();
    database.apply(database.ingest.jdbi(), List.of(success(id, "tx-" + id, WRONG)));

    for (int i = 0; i < 3; i++) {
      database.apply(
          database.worker.jdbi(),
          List.of(success(id, "tx-" + id, PRICE), refund(id, 5), refund(id, 7), refund(id, 5)));
      database.apply(database.ingest.jdbi(), List.of(refund(id, 9)));
    }

    assertThat(status(id)).isEqualTo("SUCCEEDED");
    assertThat(postings(id)).containsExactly("SUSPENSE_CAPTURE", "PROVIDER_REFUND");
    assertThat(
            database.column(
                "SELECT kind || ' ' || observed_amount_minor || ' ' || coalesce(evidence ->> 'not_booked', '-')"
                    + " FROM payrelay.exception_case WHERE payment_id = '%s' ORDER BY 1"
                        .formatted(id)))
        .containsExactlyInAnyOrder(
            "AMOUNT_MISMATCH 1 -",
            "AMOUNT_MISMATCH 1250 CAPTURE capture:simulator:tx-" + id,
            "PROVIDER_REFUND 5 -",
            "PROVIDER_REFUND 7 PROVIDER_REFUND provider_refund:simulator:tx-" + id + ":",
            "PROVIDER_REFUND 9 PROVIDER_REFUND provider_refund:simulator:tx-" + id + ":");
  }

  @Test
  void tellsOfAMismatchAfterSuccessOnce() {
    String id = request();
    Fact wrong = success(id, "tx-" + id, WRONG);
    database.apply(database.worker.jdbi(), List.of(success(id, "tx-" + id, PRICE)));

    database.apply(database.ingest.jdbi(), List.of(wrong));
    database.apply(database.ingest.jdbi(), List.of(wrong));

    assertThat(postings(id)).containsExactly("CAPTURE");
    assertThat(cases(id)).containsExactly("AMOUNT_MISMATCH");
  }

  @Test
  void opensAgainWhatRecursAndNotWhatIsSettled() {
    String id = request();
    List<Fact> facts =
        List.of(
            success(id, "tx-" + id, WRONG),
            fact(id, Observation.UNRESOLVED),
            fact(id, Observation.KEY_REFUSED));
    database.apply(database.worker.jdbi(), facts);
    database.apply(database.worker.jdbi(), facts);
    assertThat(cases(id)).containsExactly("AMOUNT_MISMATCH", "UNRESOLVED", "KEY_REFUSED");
    database
        .owner
        .jdbi()
        .useHandle(
            handle ->
                handle.execute(
                    "UPDATE payrelay.exception_case SET status = 'RESOLVED', resolved_at = now(),"
                        + " resolved_by = 'somebody', resolution = 'seen' WHERE payment_id = ?",
                    id));

    database.apply(database.worker.jdbi(), facts);
    database.apply(database.worker.jdbi(), facts);

    assertThat(cases(id))
        .containsExactly(
            "AMOUNT_MISMATCH", "UNRESOLVED", "KEY_REFUSED", "UNRESOLVED", "KEY_REFUSED");
    assertThat(events(id)).filteredOn("FactConflicting"::equals).hasSize(5);
  }

  private static Fact refund(String id, long amountMinor) {
    return Samples.of(
        id,
        FactSource.WEBHOOK,
        "simulator",
        Observation.PROVIDER_REFUND,
        "tx-" + id,
        new Money(amountMinor, "EUR"));
  }

  private static Fact success(String id, String transactionId, Money amount, String payee) {
    return Samples.payee(success(id, transactionId, amount), payee);
  }

  private static String requestFor(String payee) {
    String id = "payee_%06d".formatted(++payments);
    database
        .owner
        .jdbi()
        .useHandle(
            handle ->
                handle
                    .createQuery(
                        "SELECT payrelay.request_payment(?, 'shop', ?, 'simulator', 1250, 'EUR', payee_account => ?)")
                    .bind(0, id)
                    .bind(1, id)
                    .bind(2, payee)
                    .mapTo(String.class)
                    .one());
    return id;
  }

  /** Debit minus credit of each account, by the payment's postings. */
  private static List<String> balances(String id) {
    return database.column(
        "SELECT account_id || ' ' || sum(CASE side WHEN 'DEBIT' THEN amount_minor ELSE -amount_minor END)"
            + " FROM payrelay.ledger_entry JOIN payrelay.ledger_posting USING (posting_id)"
            + " WHERE payment_id = '"
            + id
            + "' GROUP BY account_id ORDER BY account_id");
  }

  @Test
  void letsOneOfTwoRacingPaymentsHaveATransaction() throws Exception {
    race(PRICE, "SUCCEEDED");
  }

  @Test
  void letsSuspenseWinARaceForATransactionToo() throws Exception {
    race(WRONG, "UNKNOWN");
  }

  /** The first payment's transaction is still open when the second's wants the same money. */
  private static void race(Money firstAmount, String firstStatus) throws Exception {
    String first = request();
    String second = request();
    String transactionId = "race-" + first;
    FactStore store = new FactStore();
    CompletableFuture<Void> racing;
    try (Handle open = database.worker.jdbi().open()) {
      open.begin();
      store.apply(
          open, List.of(success(first, transactionId, firstAmount)), java.time.Instant.EPOCH);
      racing =
          CompletableFuture.runAsync(
              () ->
                  database.apply(
                      database.ingest.jdbi(), List.of(success(second, transactionId, PRICE))));
      await()
          .until(
              () ->
                  database
                      .value(
                          "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
                              + " AND datname = current_database()")
                      .equals("1"));
      open.commit();
    }

    assertThat(racing)
        .failsWithin(Duration.ofSeconds(30))
        .withThrowableThat()
        .satisfies(e -> assertThat(Failures.sqlState(e)).isEqualTo("23505"))
        .satisfies(e -> assertThat(Failures.categoryOf(e)).isEqualTo(Category.RETRIABLE));
    assertThat(status(second)).isEqualTo("CREATED");

    database.applyWithRedo(database.ingest.jdbi(), List.of(success(second, transactionId, PRICE)));

    assertThat(status(first)).isEqualTo(firstStatus);
    assertThat(status(second)).isEqualTo("UNKNOWN");
    assertThat(cases(second)).containsExactly("TRANSACTION_CLAIMED_TWICE");
    assertThat(postings(second)).isEmpty();
  }

  @Test
  void staysTrueUnderManyThreads() {
    List<String> ids = new ArrayList<>();
    for (int i = 0; i < 6; i++) {
      ids.add(request());
    }
    List<String> transactions = new ArrayList<>();
    for (int i = 0; i < 8; i++) {
      transactions.add("many-" + ids.get(0) + "-" + i);
    }
    ExecutorService threads = Executors.newFixedThreadPool(20);
    List<Fact> said = Collections.synchronizedList(new ArrayList<>());
    List<CompletableFuture<Void>> running = new ArrayList<>();
    for (int i = 0; i < 20; i++) {
      Random random = new Random(i);
      Jdbi process = processes().get(i % 2);
      running.add(
          CompletableFuture.runAsync(
              () -> {
                for (int batch = 0; batch < 10; batch++) {
                  List<Fact> facts = randomFacts(random, ids, transactions);
                  said.addAll(facts);
                  database.applyWithRedo(process, facts);
                }
              },
              threads));
    }
    CompletableFuture.allOf(running.toArray(CompletableFuture[]::new)).join();
    threads.shutdown();

    List<String> seen =
        said.stream()
            .filter(fact -> fact.observation() == SUCCEEDED)
            .map(fact -> "capture:simulator:" + fact.providerTransactionId())
            .distinct()
            .toList();
    assertThat(
            database.column(
                "SELECT business_key FROM payrelay.ledger_posting WHERE business_key LIKE 'capture:simulator:many-"
                    + ids.get(0)
                    + "%'"))
        .containsExactlyInAnyOrderElementsOf(seen);
  }

  private static List<Fact> randomFacts(
      Random random, List<String> ids, List<String> transactions) {
    List<Fact> facts = new ArrayList<>();
    Observation[] plain = {PENDING, UNKNOWN, FAILED};
    for (int i = 0; i < 6; i++) {
      String id = ids.get(random.nextInt(ids.size()));
      facts.add(
          random.nextInt(3) == 0
              ? success(
                  id,
                  transactions.get(random.nextInt(transactions.size())),
                  random.nextInt(5) == 0 ? WRONG : PRICE)
              : fact(id, plain[random.nextInt(random.nextInt(10) == 0 ? 3 : 2)]));
    }
    return facts;
  }
}
