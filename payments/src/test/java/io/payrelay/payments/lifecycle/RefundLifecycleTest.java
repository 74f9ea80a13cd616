package io.payrelay.payments.lifecycle;

import static io.payrelay.payments.lifecycle.RefundLifecyclePropertyTest.refund;
import static io.payrelay.payments.lifecycle.RefundStatus.FAILED;
import static io.payrelay.payments.lifecycle.RefundStatus.PENDING;
import static io.payrelay.payments.lifecycle.RefundStatus.REQUESTED;
import static io.payrelay.payments.lifecycle.RefundStatus.RETURNED;
import static io.payrelay.payments.lifecycle.RefundStatus.SUCCEEDED;
import static io.payrelay.payments.lifecycle.RefundStatus.UNKNOWN;
import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.payments.ledger.AccountKind;
import io.payrelay.payments.ledger.Posting;
import io.payrelay.payments.ledger.PostingKind;
import io.payrelay.payments.lifecycle.Decision.NextAction;
import io.payrelay.payments.lifecycle.RefundLifecycle.Booked;
import io.payrelay.payments.lifecycle.RefundLifecycle.Context;
import io.payrelay.payments.money.Money;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class RefundLifecycleTest {

  private static final Money ASKED = new Money(500, "EUR");
  private static final Context NOTHING = new Context(null, false, null, null, false);
  private static final Context GONE =
      new Context(null, false, new Booked(AccountKind.REFUNDS, ASKED), null, false);

  private static Fact fact(
      Observation observation, @Nullable String reference, @Nullable Money amount) {
    return fact(FactSource.QUERY, observation, reference, amount);
  }

  private static Fact fact(
      FactSource source,
      Observation observation,
      @Nullable String reference,
      @Nullable Money amount) {
    return new Fact(
        source,
        "simulator",
        "pay_0001",
        observation,
        "t1",
        amount,
        null,
        reference,
        observation == Observation.FAILED ? "insufficient_funds" : null,
        Instant.parse("2026-03-01T10:00:00Z"),
        Map.of(),
        "ref_0001");
  }

  private static RefundDecision decide(RefundStatus status, Fact fact, Context context) {
    boolean named = status == SUCCEEDED || status == RETURNED;
    return RefundLifecycle.decide(refund("ref_0001", status, named ? "re_1" : null), fact, context);
  }

  private static List<RefundStatus> path(String names) {
    return names.isEmpty()
        ? List.of()
        : Arrays.stream(names.split(" ")).map(RefundStatus::valueOf).toList();
  }

  @ParameterizedTest
  @CsvSource(
      quoteCharacter = '`',
      value = {
        "REQUESTED, PENDING,          PENDING,           QUERY",
        "REQUESTED, SUCCEEDED,        PENDING SUCCEEDED, NONE",
        "REQUESTED, PROVIDER_REFUND,  PENDING SUCCEEDED, NONE",
        "REQUESTED, FAILED,           PENDING FAILED,    NONE",
        "REQUESTED, REFUSED,          PENDING FAILED,    NONE",
        "REQUESTED, UNKNOWN,          PENDING UNKNOWN,   QUERY",
        "REQUESTED, KEY_REFUSED,      PENDING UNKNOWN,   NONE",
        "REQUESTED, FAILURE_REPORTED, PENDING,           QUERY",
        "REQUESTED, PAYLOAD_DIFFERS,  ``,                NONE",
        "PENDING,   PENDING,          ``,                QUERY",
        "PENDING,   SUCCEEDED,        SUCCEEDED,         NONE",
        "PENDING,   FAILED,           FAILED,            NONE",
        "PENDING,   UNKNOWN,          UNKNOWN,           QUERY",
        "PENDING,   REFUSED,          ``,                QUERY",
        "PENDING,   UNRESOLVED,       ``,                NONE",
        "PENDING,   PAYLOAD_DIFFERS,  ``,                QUERY",
        "UNKNOWN,   PENDING,          ``,                QUERY",
        "UNKNOWN,   SUCCEEDED,        SUCCEEDED,         NONE",
        "UNKNOWN,   FAILED,           FAILED,            NONE",
        "UNKNOWN,   UNKNOWN,          ``,                QUERY",
        "SUCCEEDED, SUCCEEDED,        ``,                NONE",
        "SUCCEEDED, FAILED,           RETURNED,          NONE",
        "SUCCEEDED, FAILURE_REPORTED, ``,                QUERY",
        "SUCCEEDED, UNKNOWN,          ``,                NONE",
        "FAILED,    FAILED,           ``,                NONE",
        "FAILED,    PENDING,          ``,                NONE",
        "RETURNED,  SUCCEEDED,        ``,                NONE",
        "RETURNED,  FAILED,           ``,                NONE",
      })
  void movesAsTheDesignSays(
      RefundStatus status, Observation observation, String states, NextAction next) {
    RefundDecision decision = decide(status, fact(observation, "re_1", ASKED), NOTHING);

    assertThat(decision.states()).extracting(Refund::status).isEqualTo(path(states));
    assertThat(decision.next()).isEqualTo(next);
  }

  @Test
  void booksWhatWentBackUnderTheProvidersIdOfIt() {
    Posting posting =
        decide(PENDING, fact(Observation.SUCCEEDED, "re_1", ASKED), NOTHING).postings().get(0);

    assertThat(posting.kind()).isEqualTo(PostingKind.REFUND);
    // The key of a refund made at the provider: whoever tells of it first, it is booked once.
    assertThat(posting.businessKey()).isEqualTo("provider_refund:simulator:t1:re_1");
    assertThat(posting.entries())
        .extracting(entry -> entry.side() + " " + entry.account().id())
        .containsExactly("DEBIT refunds:simulator:EUR", "CREDIT provider_receivable:simulator:EUR");
  }

  @Test
  void takesMoneyThatNoPaymentExplainsOutOfSuspense() {
    Posting posting =
        decide(
                PENDING,
                fact(Observation.SUCCEEDED, "re_1", ASKED),
                new Context(null, true, null, null, false))
            .postings()
            .get(0);

    assertThat(posting.entries().get(0).account().kind()).isEqualTo(AccountKind.SUSPENSE);
  }

  // Source: docs.stripe.com/api/refunds/object (a refund that fails later has an entry of its own).
  @Test
  void reversesASucceededRefundThatFailsLater() {
    RefundDecision decision = decide(SUCCEEDED, fact(Observation.FAILED, "re_1", ASKED), GONE);

    assertThat(decision.result().status()).isEqualTo(RETURNED);
    assertThat(decision.result().failureCode()).isEqualTo("insufficient_funds");
    assertThat(decision.postings())
        .singleElement()
        .satisfies(
            back -> {
              assertThat(back.kind()).isEqualTo(PostingKind.REFUND_RETURNED);
              assertThat(back.reverses()).isEqualTo("provider_refund:simulator:t1:re_1");
              assertThat(back.entries())
                  .extracting(entry -> entry.side() + " " + entry.account().id())
                  .containsExactly(
                      "DEBIT provider_receivable:simulator:EUR", "CREDIT refunds:simulator:EUR");
            });
    assertThat(decision.exceptions())
        .extracting(ExceptionCase::kind)
        .containsExactly(ExceptionKind.REFUND_RETURNED);
  }

  @Test
  void booksALateRefundAndLeavesItFailed() {
    RefundDecision decision = decide(FAILED, fact(Observation.SUCCEEDED, "re_1", ASKED), NOTHING);

    assertThat(decision.states()).isEmpty();
    // Later facts that name only the provider's id are known as its own.
    assertThat(decision.result().providerRefundId()).isEqualTo("re_1");
    assertThat(decision.postings()).extracting(Posting::kind).containsExactly(PostingKind.REFUND);
    assertThat(decision.exceptions())
        .extracting(ExceptionCase::kind)
        .containsExactly(ExceptionKind.LATE_REFUND);
  }

  // Events overtake each other: docs.stripe.com/webhooks (no order is guaranteed).
  @ParameterizedTest
  @CsvSource({
    "WEBHOOK,  WEBHOOK,  -1000, ''",
    "WEBHOOK,  WEBHOOK,      0, ''",
    "WEBHOOK,  WEBHOOK,   1000, LATE_REFUND",
    // Clocks differ.
    "WEBHOOK,  QUERY,     1000, ''",
    "QUERY,    WEBHOOK,   1000, ''",
    "QUERY,    WEBHOOK, 400000, LATE_REFUND",
    "WEBHOOK,  QUERY,   400000, LATE_REFUND",
    "QUERY,    QUERY,    -1000, ''",
    "QUERY,    QUERY,        0, ''",
    "QUERY,    QUERY,        1, LATE_REFUND",
    "RESPONSE, WEBHOOK, 400000, ''",
  })
  void believesASuccessOfAFailedRefundOnlyWhereItIsNewer(
      FactSource source, FactSource failedBy, long afterMs, String kind) {
    Instant at = Instant.parse("2026-03-01T10:00:00Z");
    Fact told = fact(source, Observation.SUCCEEDED, "re_1", ASKED);
    // A query names the time of making: what counts is when it was asked.
    Fact success = source == FactSource.QUERY ? told.asked(at.plusMillis(afterMs)) : told;
    RefundFailure failure =
        new RefundFailure(
            source == FactSource.QUERY ? at : at.minusMillis(afterMs),
            RefundFailure.isByProvider(failedBy),
            "account_closed");
    Refund ours = refund("ref_0001", FAILED, "re_1");

    RefundDecision decision =
        RefundLifecycle.decide(ours, success, new Context(null, false, null, failure, false));
    Decision ofNobodys =
        ProviderRefunds.decide(
            Samples.payment("pay_0001", PaymentStatus.SUCCEEDED),
            success.aboutRefund(null),
            null,
            failure);

    assertThat(decision.states()).isEmpty();
    assertThat(decision.exceptions())
        .extracting(one -> one.kind().name())
        .isEqualTo(kind.isEmpty() ? List.of() : List.of(kind));
    assertThat(decision.postings()).hasSize(kind.isEmpty() ? 0 : 1);
    assertThat(ofNobodys.postings()).hasSize(kind.isEmpty() ? 0 : 1);
    assertThat(ofNobodys.note())
        .isEqualTo(kind.isEmpty() ? Decision.Note.IGNORED : Decision.Note.MONEY_REVERSED);
  }

  @Test
  void returnsARefundWhoseFailureWasToldBeforeItWasKnownAsOurs() {
    Fact success = fact(FactSource.RESPONSE, Observation.SUCCEEDED, "re_1", ASKED);
    RefundFailure failure = new RefundFailure(success.observedAt(), true, "account_closed");

    RefundDecision decision =
        RefundLifecycle.decide(
            refund("ref_0001", PENDING, null),
            success,
            new Context(null, true, null, failure, false));

    assertThat(decision.states()).extracting(Refund::status).containsExactly(SUCCEEDED, RETURNED);
    assertThat(decision.result().failureCode()).isEqualTo("account_closed");
    assertThat(decision.postings())
        .extracting(Posting::kind)
        .containsExactly(PostingKind.REFUND, PostingKind.REFUND_RETURNED);
    assertThat(decision.postings().get(1).reverses())
        .isEqualTo(decision.postings().get(0).businessKey());
    assertThat(decision.postings().get(1).entries().get(1).account())
        .isEqualTo(decision.postings().get(0).entries().get(0).account());
    assertThat(decision.exceptions())
        .extracting(ExceptionCase::kind)
        .containsExactly(ExceptionKind.REFUND_RETURNED);
  }

  @Test
  void tellsOnceOfMoneyThatCameBackBeforeItWasKnownAsOurs() {
    RefundDecision decision =
        RefundLifecycle.decide(
            refund("ref_0001", PENDING, null),
            fact(FactSource.RESPONSE, Observation.SUCCEEDED, "re_1", ASKED),
            new Context(null, true, null, new RefundFailure(Instant.EPOCH, true, null), true));

    assertThat(decision.states()).extracting(Refund::status).containsExactly(SUCCEEDED, RETURNED);
    assertThat(decision.postings()).isEmpty();
    assertThat(decision.exceptions()).isEmpty();
  }

  /** Of what was not asked for, too, the books show what left, and that it came back. */
  @ParameterizedTest
  @CsvSource({"re_2, 500", "re_1, 300"})
  void keepsTheBooksOfWhatWasNotAskedForInEitherOrder(String reference, long minor) {
    Money money = new Money(minor, "EUR");
    Refund ours = refund("ref_0001", SUCCEEDED, "re_1");
    Fact failure = fact(FactSource.WEBHOOK, Observation.FAILED, reference, money);
    Fact success = fact(FactSource.WEBHOOK, Observation.SUCCEEDED, reference, money);

    RefundDecision back =
        RefundLifecycle.decide(
            ours,
            failure,
            new Context(null, false, new Booked(AccountKind.REFUNDS, money), null, false));
    RefundDecision late =
        RefundLifecycle.decide(
            ours, success, new Context(null, false, null, RefundFailure.of(failure), false));

    assertThat(back.result()).isEqualTo(ours);
    assertThat(back.postings())
        .singleElement()
        .satisfies(
            posting -> {
              assertThat(posting.kind()).isEqualTo(PostingKind.REFUND_RETURNED);
              assertThat(posting.entries().get(0).amountMinor()).isEqualTo(minor);
            });
    assertThat(back.exceptions())
        .extracting(ExceptionCase::kind)
        .containsExactly(ExceptionKind.REFUND_RETURNED);
    assertThat(late.note()).isEqualTo(Decision.Note.IGNORED);
    assertThat(late.postings()).isEmpty();
  }

  @Test
  void reversesNothingForAFailureOfAnotherAmountThanWasBooked() {
    RefundDecision decision =
        decide(SUCCEEDED, fact(Observation.FAILED, "re_1", new Money(300, "EUR")), GONE);

    assertThat(decision.postings()).isEmpty();
    assertThat(decision.exceptions())
        .extracting(ExceptionCase::kind)
        .containsExactly(ExceptionKind.AMOUNT_MISMATCH);
  }

  @Test
  void tellsOnceThatARefundOfACaseFailedWhereItsMoneyWasSeenToComeBack() {
    Refund ours =
        new Refund(
            "refund_case_1",
            "pay_0001",
            "simulator",
            "t1",
            ASKED,
            "why",
            "trace-1",
            PENDING,
            2,
            null,
            null,
            Instant.EPOCH);
    Fact failure = fact(Observation.FAILED, "re_1", ASKED).aboutRefund("refund_case_1");

    assertThat(RefundLifecycle.decide(ours, failure, NOTHING).exceptions()).hasSize(1);
    assertThat(
            RefundLifecycle.decide(ours, failure, new Context(null, false, null, null, true))
                .exceptions())
        .isEmpty();
  }

  @ParameterizedTest
  @EnumSource(
      value = RefundStatus.class,
      names = {"SUCCEEDED", "RETURNED"})
  void raisesASecondRefundAtTheProviderForOneOfOurs(RefundStatus status) {
    RefundDecision decision = decide(status, fact(Observation.SUCCEEDED, "re_2", ASKED), NOTHING);

    assertThat(decision.states()).isEmpty();
    assertThat(decision.postings())
        .extracting(Posting::businessKey)
        .containsExactly("provider_refund:simulator:t1:re_2");
    assertThat(decision.exceptions())
        .extracting(ExceptionCase::kind)
        .containsExactly(ExceptionKind.DOUBLE_REFUND);
  }

  @ParameterizedTest
  @CsvSource({"501, EUR, AMOUNT_MISMATCH", "500, USD, CURRENCY_MISMATCH"})
  void neverSucceedsWithOtherMoney(long amount, String currency, ExceptionKind kind) {
    for (RefundStatus status : List.of(REQUESTED, PENDING, UNKNOWN)) {
      RefundDecision decision =
          decide(status, fact(Observation.SUCCEEDED, "re_1", new Money(amount, currency)), NOTHING);

      assertThat(decision.result().status()).isEqualTo(UNKNOWN);
      assertThat(decision.exceptions()).extracting(ExceptionCase::kind).containsExactly(kind);
      // It left all the same.
      assertThat(decision.postings())
          .singleElement()
          .satisfies(
              posting -> {
                assertThat(posting.kind()).isEqualTo(PostingKind.PROVIDER_REFUND);
                assertThat(posting.entries().get(0).amountMinor()).isEqualTo(amount);
              });
    }
  }

  // Source: WeChat Pay community 00064e762645e0159ccf11bbd5b000 (an older refund's success).
  @Test
  void doesNotTakeAnotherRefundsSuccessForItsOwn() {
    RefundDecision decision =
        decide(
            PENDING,
            fact(Observation.SUCCEEDED, "re_1", ASKED),
            new Context("ref_0000", false, new Booked(AccountKind.REFUNDS, ASKED), null, false));

    assertThat(decision.result().status()).isEqualTo(UNKNOWN);
    assertThat(decision.postings()).isEmpty();
    assertThat(decision.exceptions())
        .extracting(ExceptionCase::kind)
        .containsExactly(ExceptionKind.TRANSACTION_CLAIMED_TWICE);
    assertThat(decision.exceptions().get(0).evidence())
        .containsEntry("claimed_by_refund_id", "ref_0000")
        .containsEntry("refund_id", "ref_0001");
  }

  /** Somebody said that it failed after all, and nobody answers: that is not to be forgotten. */
  @ParameterizedTest
  @CsvSource({"SUCCEEDED, true", "RETURNED, false", "FAILED, false", "UNKNOWN, true"})
  void leavesToAPersonWhatNobodyAnswers(RefundStatus status, boolean raised) {
    RefundDecision decision = decide(status, fact(Observation.UNRESOLVED, null, null), GONE);

    assertThat(decision.exceptions())
        .extracting(ExceptionCase::kind)
        .isEqualTo(raised ? List.of(ExceptionKind.UNRESOLVED) : List.of());
    assertThat(decision.result().status()).isEqualTo(status);
    assertThat(decision.postings()).isEmpty();
  }

  @Test
  void takesWhatLeftForWhatWasAskedForOnAPersonsWordOnly() {
    Money other = new Money(501, "EUR");
    Context left = new Context(null, false, new Booked(AccountKind.REFUNDS, other), null, false);
    Fact answer = fact(Observation.SUCCEEDED, "re_1", other);

    RefundDecision person = decide(UNKNOWN, operators(answer), left);

    assertThat(person.result().status()).isEqualTo(SUCCEEDED);
    assertThat(person.result().providerRefundId()).isEqualTo("re_1");
    assertThat(person.postings()).as("it is booked already").isEmpty();
    assertThat(person.exceptions()).isEmpty();
    assertThat(decide(UNKNOWN, answer, left).result().status()).isEqualTo(UNKNOWN);
    assertThat(decide(UNKNOWN, operators(answer), NOTHING).result().status()).isEqualTo(UNKNOWN);
    assertThat(decide(FAILED, operators(answer), left).result().status()).isEqualTo(FAILED);
  }

  private static Fact operators(Fact fact) {
    return new Fact(
        FactSource.OPERATOR,
        fact.provider(),
        fact.paymentId(),
        fact.observation(),
        fact.providerTransactionId(),
        fact.amount(),
        null,
        fact.reference(),
        null,
        fact.observedAt(),
        fact.evidence(),
        fact.refundId());
  }

  /** An upstream hears of its refund's failure; nobody hears of a person's. */
  @ParameterizedTest
  @EnumSource(
      value = Observation.class,
      names = {"FAILED", "REFUSED"})
  void raisesACaseWhereARefundFailsThatAPersonAskedFor(Observation observation) {
    Fact failure = fact(observation, null, null);
    String ours = Refund.idOfCase(7);

    RefundDecision decision =
        RefundLifecycle.decide(refund(ours, REQUESTED, null), failure.aboutRefund(ours), NOTHING);

    assertThat(decision.result().status()).isEqualTo(FAILED);
    assertThat(decision.exceptions())
        .singleElement()
        .satisfies(
            one -> {
              assertThat(one.kind()).isEqualTo(ExceptionKind.REFUND_FAILED);
              assertThat(one.observed()).isEqualTo(ASKED);
              assertThat(one.evidence()).containsEntry("refund_id", ours);
            });
    assertThat(decide(REQUESTED, failure, NOTHING).exceptions()).isEmpty();
  }

  @Test
  void takesBackWhatAProvidersOwnRefundHadTaken() {
    Payment payment = Samples.payment("pay_0001", PaymentStatus.SUCCEEDED);
    Fact failure = fact(Observation.FAILED, "re_9", ASKED).aboutRefund(null);

    Decision told =
        ProviderRefunds.decide(payment, failure, new Booked(AccountKind.REFUNDS, ASKED), null);
    Decision unknown = ProviderRefunds.decide(payment, failure, null, null);

    assertThat(told.postings())
        .extracting(Posting::kind)
        .containsExactly(PostingKind.REFUND_RETURNED);
    assertThat(told.exceptions())
        .extracting(ExceptionCase::kind)
        .containsExactly(ExceptionKind.REFUND_RETURNED);
    assertThat(unknown.note()).isEqualTo(Decision.Note.IGNORED);
    assertThat(unknown.postings()).isEmpty();
  }

  @Test
  void printsNothingPrivate() {
    assertThat(refund("ref_0001", PENDING, null)).hasToString("Refund[ref_0001 PENDING version 3]");
  }
}
