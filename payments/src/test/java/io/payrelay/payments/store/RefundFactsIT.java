package io.payrelay.payments.store;

import static io.payrelay.payments.lifecycle.Observation.DISPUTED;
import static io.payrelay.payments.lifecycle.Observation.DISPUTE_LOST;
import static io.payrelay.payments.lifecycle.Observation.FAILED;
import static io.payrelay.payments.lifecycle.Observation.FAILURE_REPORTED;
import static io.payrelay.payments.lifecycle.Observation.PENDING;
import static io.payrelay.payments.lifecycle.Observation.PROVIDER_REFUND;
import static io.payrelay.payments.lifecycle.Observation.SUCCEEDED;
import static io.payrelay.payments.lifecycle.Observation.UNKNOWN;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.lifecycle.Samples;
import io.payrelay.payments.money.Money;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.EventCodec;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jdbi.v3.core.Jdbi;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Refunds from the row to the ledger, whoever tells of them and in whichever order. */
@Timeout(180)
class RefundFactsIT {

  private static final Money PRICE = new Money(1000, "EUR");
  private static final Money PART = new Money(400, "EUR");

  private static PaymentsDatabase database;
  private static int payments;

  private final String payment = database.request("pay_r%05d".formatted(++payments), 1000);
  private final String refund = "ref_%06d".formatted(payments);
  private final String money = "t_" + payment;
  private final String reference = "re_" + refund;

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
            SELECT r.refund_id FROM payrelay.refund r
            WHERE r.version <> (SELECT count(*) FROM payrelay.refund_event e
                WHERE e.refund_id = r.refund_id AND e.version BETWEEN 1 AND r.version)
              OR r.version - 1 <> (SELECT count(DISTINCT (o.payload ->> 'version')) FROM payrelay.outbox o
                WHERE o.aggregate_id = r.payment_id AND o.event_type = 'RefundStatusChanged'
                  AND o.payload ->> 'refund_id' = r.refund_id)
              OR r.version - 1 <> (SELECT count(*) FROM payrelay.outbox o
                WHERE o.aggregate_id = r.payment_id AND o.event_type = 'RefundStatusChanged'
                  AND o.payload ->> 'refund_id' = r.refund_id)
            """))
        .as("versions without gaps, one outbox row a change")
        .isEmpty();
    assertThat(
            database.column(
                """
            SELECT r.refund_id FROM payrelay.refund r
            WHERE r.status IN ('SUCCEEDED', 'RETURNED') AND NOT EXISTS (SELECT FROM payrelay.ledger_posting p
                WHERE p.payment_id = r.payment_id AND p.business_key = 'provider_refund:' || r.provider || ':'
                  || r.provider_transaction_id || ':' || r.provider_refund_id)
              OR (r.status = 'RETURNED') <> EXISTS (SELECT FROM payrelay.ledger_posting p
                JOIN payrelay.ledger_posting q ON q.posting_id = p.reverses_posting_id
                WHERE p.kind = 'REFUND_RETURNED' AND q.business_key = 'provider_refund:' || r.provider || ':'
                  || r.provider_transaction_id || ':' || r.provider_refund_id AND r.status <> 'FAILED')
            """))
        .as("refunds without their money")
        .isEmpty();
    assertThat(
            database.column(
                """
            SELECT p.payment_id FROM payrelay.payment p, payrelay.refundable(p.payment_id) f
            WHERE f.captured_minor < (SELECT sum(r.amount_minor) FROM payrelay.refund r
              WHERE r.payment_id = p.payment_id AND r.provider_transaction_id = f.provider_transaction_id
                AND r.status NOT IN ('FAILED', 'RETURNED'))
            """))
        .as("more given back than was captured")
        .isEmpty();
  }

  private void capture() {
    apply(success(money, PRICE));
  }

  private Fact success(String transactionId, Money amount) {
    return Samples.of(payment, FactSource.WEBHOOK, "simulator", SUCCEEDED, transactionId, amount);
  }

  private void request(String id, Money amount, @Nullable String transactionId) {
    database
        .owner
        .jdbi()
        .useHandle(
            handle ->
                handle
                    .createQuery("SELECT payrelay.request_refund(?, ?, ?, ?, ?)")
                    .bind(0, id)
                    .bind(1, payment)
                    .bind(2, amount.amountMinor())
                    .bind(3, amount.currency())
                    .bind(4, transactionId)
                    .mapTo(String.class)
                    .one());
  }

  /** The provider's answer to our call: it names ours. */
  private Fact answer(Observation observation, @Nullable String providerId) {
    Money amount = observation == UNKNOWN ? null : PART;
    return Samples.ofRefund(
        payment, FactSource.RESPONSE, observation, money, amount, providerId, refund);
  }

  /** News of the provider, which names only its own ids. */
  private Fact news(Observation observation, String providerId) {
    return Samples.ofRefund(
        payment, FactSource.WEBHOOK, observation, money, PART, providerId, null);
  }

  private static List<FactStore.Applied> apply(Fact... facts) {
    return database.apply(database.worker.jdbi(), List.of(facts));
  }

  private String state() {
    return database.value(
        "SELECT status || ' ' || version || ' ' || coalesce(provider_refund_id, '-') FROM payrelay.refund"
            + " WHERE refund_id = '%s'".formatted(refund));
  }

  private List<String> postings() {
    return database.column(
        """
        SELECT p.kind || ' ' || string_agg(e.side || ' ' || a.kind || ' ' || e.amount_minor, ', ' ORDER BY e.entry_number)
        FROM payrelay.ledger_posting p JOIN payrelay.ledger_entry e USING (posting_id)
        JOIN payrelay.ledger_account a USING (account_id)
        WHERE p.payment_id = '%s' AND p.kind NOT IN ('CAPTURE', 'SUSPENSE_CAPTURE')
        GROUP BY p.posting_id ORDER BY p.posting_id
        """
            .formatted(payment));
  }

  private List<String> cases() {
    return database.column(
        "SELECT kind FROM payrelay.exception_case WHERE payment_id = '%s' ORDER BY exception_case_id"
            .formatted(payment));
  }

  private String refundable() {
    return database.value(
        "SELECT string_agg(refundable_minor::text, ',' ORDER BY provider_transaction_id)"
            + " FROM payrelay.refundable('%s')".formatted(payment));
  }

  private List<String> events() {
    return database.column(
        "SELECT event_type FROM payrelay.refund_event WHERE refund_id = '%s' ORDER BY refund_event_id"
            .formatted(refund));
  }

  private static final String GONE = "REFUND DEBIT REFUNDS 400, CREDIT PROVIDER_RECEIVABLE 400";

  @Test
  void writesEverythingThatFollowsTogether() throws Exception {
    for (Jdbi process : List.of(database.worker.jdbi(), database.ingest.jdbi())) {
      RefundFactsIT one = new RefundFactsIT();
      one.capture();
      one.request(one.refund, PART, null);

      database.apply(process, List.of(one.answer(SUCCEEDED, one.reference)));

      assertThat(one.state()).isEqualTo("SUCCEEDED 3 " + one.reference);
      assertThat(one.events())
          .containsExactly("RefundRequested", "RefundPending", "RefundConfirmed");
      assertThat(one.postings()).containsExactly(GONE);
      assertThat(one.cases()).isEmpty();
      assertThat(one.refundable()).isEqualTo("600");
      List<String> told =
          database.column(
              ("SELECT payload FROM payrelay.outbox WHERE aggregate_id = '%s'"
                      + " AND event_type = 'RefundStatusChanged' ORDER BY payload ->> 'version'")
                  .formatted(one.payment));
      assertThat(told).hasSize(2);
      for (String payload : told) {
        assertThat(new EventCodec(EventCatalogue.builtIn()).encode("RefundStatusChanged", payload))
            .isNotEmpty();
      }
    }
  }

  @Test
  void isBookedOnceWhenTheAnswerComesBeforeTheWebhook() {
    capture();
    request(refund, PART, null);

    apply(answer(SUCCEEDED, reference));
    apply(news(PROVIDER_REFUND, reference), news(SUCCEEDED, reference));

    assertThat(postings()).containsExactly(GONE);
    assertThat(cases()).isEmpty();
    assertThat(state()).isEqualTo("SUCCEEDED 3 " + reference);
  }

  @Test
  void isKnownAsOursByAWebhookThatNamesOurId() {
    capture();
    request(refund, PART, null);

    apply(news(PROVIDER_REFUND, reference).aboutRefund(refund));
    apply(answer(UNKNOWN, null), answer(SUCCEEDED, reference));

    assertThat(state()).isEqualTo("SUCCEEDED 3 " + reference);
    assertThat(postings()).containsExactly(GONE);
    assertThat(cases()).isEmpty();
  }

  @Test
  void isBookedOnceWhenAWebhookWithoutOurIdComesBeforeTheAnswer() {
    capture();
    request(refund, PART, null);

    apply(news(PROVIDER_REFUND, reference));

    // Nobody can know yet that it is ours: it is told as the provider's, and nothing more can be
    // asked for.
    assertThat(cases()).containsExactly("PROVIDER_REFUND");
    assertThat(refundable()).isEqualTo("200");

    apply(answer(SUCCEEDED, reference));

    assertThat(state()).isEqualTo("SUCCEEDED 3 " + reference);
    assertThat(postings()).containsExactly("PROVIDER_" + GONE);
    assertThat(cases()).containsExactly("PROVIDER_REFUND");
    assertThat(refundable()).isEqualTo("600");
  }

  // Source: docs.stripe.com/api/refunds/object (a refund that fails later has an entry of its own).
  @Test
  void givesTheAmountBackWhenASucceededRefundFailsLater() {
    capture();
    request(refund, PART, null);
    apply(answer(PENDING, reference));
    assertThat(state()).isEqualTo("PENDING 2 " + reference);
    apply(news(SUCCEEDED, reference));
    assertThat(refundable()).isEqualTo("600");

    apply(news(FAILED, reference));
    apply(news(FAILED, reference), news(PROVIDER_REFUND, reference));

    assertThat(state()).isEqualTo("RETURNED 4 " + reference);
    assertThat(postings())
        .containsExactly(GONE, "REFUND_RETURNED DEBIT PROVIDER_RECEIVABLE 400, CREDIT REFUNDS 400");
    assertThat(cases()).containsExactly("REFUND_RETURNED");
    assertThat(events())
        .containsExactly(
            "RefundRequested", "RefundPending", "RefundConfirmed", "RefundReturned", "FactIgnored");
    assertThat(refundable()).isEqualTo("1000");
  }

  @Test
  void booksAndReversesInOneBatchAsInTwo() {
    capture();
    request(refund, PART, null);

    apply(answer(SUCCEEDED, reference), news(FAILED, reference));

    assertThat(state()).isEqualTo("RETURNED 4 " + reference);
    assertThat(postings()).hasSize(2);
    assertThat(refundable()).isEqualTo("1000");
  }

  @Test
  void showsALateRefundAsGoneThoughItFailed() {
    capture();
    request(refund, PART, null);
    apply(answer(FAILED, null));
    assertThat(refundable()).isEqualTo("1000");

    apply(news(PROVIDER_REFUND, reference).aboutRefund(refund));
    apply(news(PROVIDER_REFUND, reference));

    assertThat(state()).isEqualTo("FAILED 3 " + reference);
    assertThat(cases()).containsExactly("LATE_REFUND");
    assertThat(postings()).containsExactly(GONE);
    assertThat(refundable()).isEqualTo("600");
  }

  @Test
  void takesNoMoneyWhenTheSuccessOfARefundThatCameBackArrivesLast() {
    capture();
    request(refund, PART, null);
    apply(answer(PENDING, reference));
    Fact before = news(PROVIDER_REFUND, reference);
    Fact after = later(news(FAILED, reference));

    apply(after);
    apply(before);
    apply(after, before, answer(SUCCEEDED, reference));

    assertThat(state()).isEqualTo("FAILED 3 " + reference);
    assertThat(cases()).isEmpty();
    assertThat(postings()).isEmpty();
    assertThat(refundable()).isEqualTo("1000");

    apply(later(later(before)));

    assertThat(cases()).containsExactly("LATE_REFUND");
  }

  @Test
  void takesNoMoneyOfARefundThatHadComeBackBeforeAnybodyKnewWhose() {
    capture();
    request(refund, PART, null);

    apply(later(news(FAILED, "re_theirs")));
    apply(later(news(FAILED, reference)));
    apply(news(PROVIDER_REFUND, "re_theirs"));

    assertThat(cases()).isEmpty();
    assertThat(refundable()).isEqualTo("600");

    apply(answer(SUCCEEDED, reference));

    assertThat(state()).isEqualTo("RETURNED 4 " + reference);
    assertThat(cases()).containsExactly("REFUND_RETURNED");
    assertThat(postings())
        .containsExactly(GONE, "REFUND_RETURNED DEBIT PROVIDER_RECEIVABLE 400, CREDIT REFUNDS 400");
    assertThat(refundable()).isEqualTo("1000");
  }

  @Test
  void asksOnceWhetherMoneyThatCameBackIsToBeGivenAgain() {
    apply(Samples.of(payment, FactSource.QUERY, "simulator", FAILED, null, null));
    capture();
    request(refund, PART, null);

    apply(news(PROVIDER_REFUND, reference));
    apply(later(news(FAILED, reference)));
    apply(answer(SUCCEEDED, reference));

    assertThat(state()).isEqualTo("RETURNED 4 " + reference);
    assertThat(cases()).containsExactly("LATE_SUCCESS", "PROVIDER_REFUND", "REFUND_RETURNED");
    assertThat(postings())
        .containsExactly(
            "PROVIDER_REFUND DEBIT REFUNDS 400, CREDIT PROVIDER_RECEIVABLE 400",
            "REFUND_RETURNED DEBIT PROVIDER_RECEIVABLE 400, CREDIT REFUNDS 400");
    assertThat(refundable()).isEqualTo("1000");
  }

  @Test
  void doesNotTakeAReportForAFailureWhereTheProviderIsAsked() {
    capture();
    request(refund, PART, null);

    apply(later(news(FAILURE_REPORTED, reference)).aboutRefund(refund));
    apply(answer(SUCCEEDED, reference));

    assertThat(state()).isEqualTo("SUCCEEDED 3 " + reference);
    assertThat(cases()).isEmpty();
  }

  @Test
  void remembersOfAFailureWhoseItWas() {
    capture();
    request(refund, PART, null);
    request(refund + "b", PART, null);
    apply(answer(PENDING, reference));

    // The answer for the second names the first one's; and a third came back with another amount.
    apply(later(answer(FAILED, reference)).aboutRefund(refund + "b"));
    Money other = new Money(7, "EUR");
    Fact third =
        Samples.ofRefund(payment, FactSource.WEBHOOK, FAILED, money, other, "re_third", refund);
    apply(later(third));
    apply(news(SUCCEEDED, reference));
    apply(
        Samples.ofRefund(
            payment, FactSource.WEBHOOK, PROVIDER_REFUND, money, other, "re_third", refund));

    assertThat(state()).isEqualTo("SUCCEEDED 4 " + reference);
    assertThat(postings()).containsExactly(GONE);
  }

  @Test
  void leavesARefundToThePaymentWhoseMoneyItGaveBack() {
    capture();
    String other = database.request(payment + "b", 1000);
    Fact claimed = success(money, PRICE).about(other);

    apply(claimed, news(PROVIDER_REFUND, reference).about(other));

    assertThat(
            database.column(
                "SELECT kind FROM payrelay.exception_case WHERE payment_id = '%s'"
                    .formatted(other)))
        .containsExactlyInAnyOrder("TRANSACTION_CLAIMED_TWICE", "PROVIDER_REFUND");
    assertThat(
            database.column(
                "SELECT kind FROM payrelay.ledger_posting WHERE payment_id = '%s'"
                    .formatted(other)))
        .isEmpty();
  }

  private static Fact later(Fact fact) {
    return new Fact(
        fact.source(),
        fact.provider(),
        fact.paymentId(),
        fact.observation(),
        fact.providerTransactionId(),
        fact.amount(),
        fact.payeeAccount(),
        fact.reference(),
        fact.code(),
        fact.observedAt().plusSeconds(1),
        fact.evidence(),
        fact.refundId());
  }

  // Source: coreshop #2529, woocommerce #21083 (late payment of a failed order).
  @Test
  void givesBackALateSuccessOutOfSuspense() {
    apply(Samples.of(payment, FactSource.QUERY, "simulator", FAILED, null, null));
    capture();
    request(refund, PRICE, null);

    apply(
        Samples.ofRefund(payment, FactSource.RESPONSE, SUCCEEDED, money, PRICE, reference, refund));

    assertThat(postings())
        .containsExactly("REFUND DEBIT SUSPENSE 1000, CREDIT PROVIDER_RECEIVABLE 1000");
    assertThat(refundable()).isEqualTo("0");
    assertThat(cases()).containsExactly("LATE_SUCCESS");
  }

  @Test
  void givesBackADoubleChargeAndMismatchedMoneyEachWithinItsOwn() {
    capture();
    apply(
        success("t_double_" + payment, PRICE), success("t_wrong_" + payment, new Money(7, "USD")));

    assertThatThrownBy(() -> request(refund, PRICE, null))
        .hasMessageContaining("3 captured transactions");
    assertThatThrownBy(() -> request(refund, new Money(8, "USD"), "t_wrong_" + payment))
        .hasMessageContaining("7 of the 7 captured");
    request(refund, PRICE, "t_double_" + payment);
    request(refund + "u", new Money(7, "USD"), "t_wrong_" + payment);
    apply(
        Samples.ofRefund(
            payment,
            FactSource.RESPONSE,
            SUCCEEDED,
            "t_double_" + payment,
            PRICE,
            reference,
            refund),
        Samples.ofRefund(
            payment,
            FactSource.RESPONSE,
            SUCCEEDED,
            "t_wrong_" + payment,
            new Money(7, "USD"),
            reference + "u",
            refund + "u"));

    assertThat(refundable()).isEqualTo("0,1000,0");
    assertThat(
            database.value(
                """
                SELECT coalesce(sum(CASE e.side WHEN 'DEBIT' THEN e.amount_minor ELSE -e.amount_minor END), 0)
                FROM payrelay.ledger_entry e JOIN payrelay.ledger_posting p USING (posting_id)
                JOIN payrelay.ledger_account a USING (account_id)
                WHERE p.payment_id = '%s' AND a.kind = 'SUSPENSE'
                """
                    .formatted(payment)))
        .as("what suspense still holds")
        .isEqualTo("0");
  }

  @Test
  void movesWhatWasBookedAsTheProvidersOutOfSuspenseWhenOurAnswerComes() {
    apply(Samples.of(payment, FactSource.QUERY, "simulator", FAILED, null, null));
    capture();
    request(refund, PART, null);

    apply(news(PROVIDER_REFUND, reference));
    apply(answer(SUCCEEDED, reference));
    apply(news(FAILED, reference));

    assertThat(postings())
        .containsExactly(
            "PROVIDER_REFUND DEBIT REFUNDS 400, CREDIT PROVIDER_RECEIVABLE 400",
            "ADJUSTMENT DEBIT SUSPENSE 400, CREDIT REFUNDS 400",
            "REFUND_RETURNED DEBIT PROVIDER_RECEIVABLE 400, CREDIT SUSPENSE 400");
    assertThat(refundable()).isEqualTo("1000");
  }

  @Test
  void neverSucceedsWithAnotherAmountAndTakesBothOut() {
    capture();
    request(refund, PART, null);

    apply(
        Samples.ofRefund(
            payment,
            FactSource.RESPONSE,
            SUCCEEDED,
            money,
            new Money(300, "EUR"),
            reference,
            refund));

    assertThat(state()).isEqualTo("UNKNOWN 3 " + reference);
    assertThat(cases()).containsExactly("AMOUNT_MISMATCH");
    assertThat(postings())
        .containsExactly("PROVIDER_REFUND DEBIT REFUNDS 300, CREDIT PROVIDER_RECEIVABLE 300");
    // Until a person says what it is: what left, and what may still leave.
    assertThat(refundable()).isEqualTo("300");
  }

  // Source: WeChat Pay community 00064e762645e0159ccf11bbd5b000 (another refund's success).
  @Test
  void letsOneRefundAtTheProviderStandForOneOfOurs() {
    capture();
    request(refund, PART, null);
    request(refund + "b", PART, null);
    apply(answer(SUCCEEDED, reference));

    apply(answer(SUCCEEDED, reference).aboutRefund(refund + "b"));

    assertThat(cases()).containsExactly("TRANSACTION_CLAIMED_TWICE");
    assertThat(postings()).containsExactly(GONE);
    assertThat(
            database.value(
                "SELECT status FROM payrelay.refund WHERE refund_id = '%sb'".formatted(refund)))
        .isEqualTo("UNKNOWN");
  }

  @Test
  void booksARefundMadeAtTheProviderAndADisputeAndRaisesThem() {
    capture();

    apply(news(PROVIDER_REFUND, "re_theirs"), news(PENDING, "re_later"));
    apply(
        Samples.ofRefund(payment, FactSource.WEBHOOK, DISPUTED, money, PART, "dp_1", null),
        Samples.ofRefund(payment, FactSource.WEBHOOK, DISPUTE_LOST, money, PART, "dp_1", null));

    assertThat(cases()).containsExactly("PROVIDER_REFUND", "DISPUTED", "DISPUTE_LOST");
    assertThat(refundable()).isEqualTo("200");

    apply(news(FAILED, "re_theirs"), news(FAILED, "re_theirs"));

    assertThat(refundable()).isEqualTo("600");
    assertThat(cases())
        .containsExactly("PROVIDER_REFUND", "DISPUTED", "DISPUTE_LOST", "REFUND_RETURNED");
  }

  @Test
  void endsTheSameUnderConcurrentProcessesWhateverTheOrder() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(4);
    try {
      List<RefundFactsIT> all = new ArrayList<>();
      List<Fact> facts = new ArrayList<>();
      for (int i = 0; i < 6; i++) {
        RefundFactsIT one = new RefundFactsIT();
        all.add(one);
        one.capture();
        one.request(one.refund, PART, null);
        facts.addAll(
            List.of(
                one.answer(PENDING, one.reference),
                one.answer(SUCCEEDED, one.reference),
                one.answer(UNKNOWN, null),
                one.news(PROVIDER_REFUND, one.reference).aboutRefund(one.refund)));
      }
      List<CompletableFuture<Void>> running = new ArrayList<>();
      for (int thread = 0; thread < 4; thread++) {
        List<Fact> order = new ArrayList<>(facts);
        Collections.shuffle(order, new Random(thread));
        Jdbi process = thread % 2 == 0 ? database.worker.jdbi() : database.ingest.jdbi();
        running.add(
            CompletableFuture.runAsync(
                () -> {
                  for (int from = 0; from < order.size(); from += 6) {
                    database.applyWithRedo(
                        process, order.subList(from, Math.min(from + 6, order.size())));
                  }
                },
                threads));
      }
      CompletableFuture.allOf(running.toArray(CompletableFuture[]::new)).join();

      for (RefundFactsIT one : all) {
        assertThat(one.state()).startsWith("SUCCEEDED");
        assertThat(one.postings()).containsExactly(GONE);
        assertThat(one.cases()).isEmpty();
      }
    } finally {
      threads.shutdownNow();
    }
  }
}
