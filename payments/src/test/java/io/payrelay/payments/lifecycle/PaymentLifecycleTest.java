package io.payrelay.payments.lifecycle;

import static io.payrelay.payments.lifecycle.Samples.fact;
import static io.payrelay.payments.lifecycle.Samples.payment;
import static io.payrelay.payments.lifecycle.Samples.success;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.payrelay.payments.ledger.PostingKind;
import io.payrelay.payments.lifecycle.Decision.Note;
import io.payrelay.payments.lifecycle.PaymentLifecycle.Context;
import io.payrelay.payments.money.Money;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

/** Each rule of ARCHITECTURE.md about facts and payments, one after the other. */
class PaymentLifecycleTest {

  private static final Context NOTHING = new Context(null, false);

  private static Context claimedBy(String paymentId) {
    return new Context(paymentId, false);
  }

  /** What a decision says, in one line: states, note, postings, cases, next action. */
  private static String line(Decision decision) {
    return "%s / %s / %s / %s / %s"
        .formatted(
            decision.states().stream()
                .map(state -> state.status().name())
                .collect(Collectors.joining(" ")),
            decision.note(),
            decision.postings().stream()
                .map(posting -> posting.kind().name())
                .collect(Collectors.joining(" ")),
            decision.exceptions().stream()
                .map(one -> one.kind().name())
                .collect(Collectors.joining(" ")),
            decision.next())
        .replace("/  /", "/ - /")
        .replace("/  /", "/ - /")
        .replaceAll("^ /", "- /");
  }

  @ParameterizedTest
  @CsvSource({
    // What the provider says of a payment that is not over.
    "CREATED, PENDING, PENDING / NONE / - / - / QUERY",
    "CREATED, SUCCEEDED, PENDING SUCCEEDED / NONE / CAPTURE / - / NONE",
    "CREATED, FAILED, PENDING FAILED / NONE / - / - / NONE",
    "CREATED, UNKNOWN, PENDING UNKNOWN / NONE / - / - / QUERY",
    "PENDING, PENDING, - / NONE / - / - / QUERY",
    "PENDING, SUCCEEDED, SUCCEEDED / NONE / CAPTURE / - / NONE",
    "PENDING, FAILED, FAILED / NONE / - / - / NONE",
    "PENDING, UNKNOWN, UNKNOWN / NONE / - / - / QUERY",
    "UNKNOWN, PENDING, - / NONE / - / - / QUERY",
    "UNKNOWN, SUCCEEDED, SUCCEEDED / NONE / CAPTURE / - / NONE",
    "UNKNOWN, FAILED, FAILED / NONE / - / - / NONE",
    "UNKNOWN, UNKNOWN, - / NONE / - / - / QUERY",
    // Terminal states do not move.
    "SUCCEEDED, PENDING, - / NONE / - / - / NONE",
    "SUCCEEDED, SUCCEEDED, - / NONE / - / - / NONE",
    "SUCCEEDED, FAILED, - / IGNORED / - / - / NONE",
    "SUCCEEDED, UNKNOWN, - / NONE / - / - / NONE",
    "FAILED, PENDING, - / NONE / - / - / NONE",
    "FAILED, SUCCEEDED, - / CONFLICTING / SUSPENSE_CAPTURE / LATE_SUCCESS / NONE",
    "FAILED, FAILED, - / NONE / - / - / NONE",
    "FAILED, UNKNOWN, - / NONE / - / - / NONE",
    // A webhook's failure decides nothing.
    "CREATED, FAILURE_REPORTED, PENDING / NONE / - / - / QUERY",
    "PENDING, FAILURE_REPORTED, - / NONE / - / - / QUERY",
    "UNKNOWN, FAILURE_REPORTED, - / NONE / - / - / QUERY",
    "SUCCEEDED, FAILURE_REPORTED, - / IGNORED / - / - / NONE",
    "FAILED, FAILURE_REPORTED, - / NONE / - / - / NONE",
    // Payrelay's own observations.
    "CREATED, REFUSED, PENDING FAILED / NONE / - / - / NONE",
    "PENDING, REFUSED, - / NONE / - / - / QUERY",
    "UNKNOWN, REFUSED, - / NONE / - / - / QUERY",
    "SUCCEEDED, REFUSED, - / NONE / - / - / NONE",
    "FAILED, REFUSED, - / NONE / - / - / NONE",
    "CREATED, PAYLOAD_DIFFERS, - / CONFLICTING / - / PAYLOAD_MISMATCH / NONE",
    "PENDING, PAYLOAD_DIFFERS, - / CONFLICTING / - / PAYLOAD_MISMATCH / QUERY",
    "UNKNOWN, PAYLOAD_DIFFERS, - / CONFLICTING / - / PAYLOAD_MISMATCH / QUERY",
    "SUCCEEDED, PAYLOAD_DIFFERS, - / NONE / - / - / NONE",
    "FAILED, PAYLOAD_DIFFERS, - / NONE / - / - / NONE",
    "CREATED, KEY_REFUSED, PENDING UNKNOWN / CONFLICTING / - / KEY_REFUSED / NONE",
    "PENDING, KEY_REFUSED, UNKNOWN / CONFLICTING / - / KEY_REFUSED / NONE",
    "UNKNOWN, KEY_REFUSED, - / CONFLICTING / - / KEY_REFUSED / NONE",
    "SUCCEEDED, KEY_REFUSED, - / NONE / - / - / NONE",
    "FAILED, KEY_REFUSED, - / NONE / - / - / NONE",
    "CREATED, UNRESOLVED, - / CONFLICTING / - / UNRESOLVED / NONE",
    "PENDING, UNRESOLVED, - / CONFLICTING / - / UNRESOLVED / NONE",
    "UNKNOWN, UNRESOLVED, - / CONFLICTING / - / UNRESOLVED / NONE",
    "SUCCEEDED, UNRESOLVED, - / NONE / - / - / NONE",
    "FAILED, UNRESOLVED, - / NONE / - / - / NONE",
    // Money that leaves or comes back.
    "SUCCEEDED, DISPUTED, - / MONEY_REVERSED / DISPUTE / DISPUTED / NONE",
    "SUCCEEDED, DISPUTE_WON, - / MONEY_REVERSED / DISPUTE_WON / DISPUTE_WON / NONE",
    "SUCCEEDED, DISPUTE_LOST, - / MONEY_REVERSED / DISPUTE_LOST / DISPUTE_LOST / NONE",
    "SUCCEEDED, PROVIDER_REFUND, - / MONEY_REVERSED / PROVIDER_REFUND / PROVIDER_REFUND / NONE",
    "FAILED, PROVIDER_REFUND, - / MONEY_REVERSED / PROVIDER_REFUND / PROVIDER_REFUND / NONE",
    "UNKNOWN, DISPUTED, - / MONEY_REVERSED / DISPUTE / DISPUTED / QUERY",
  })
  void decides(PaymentStatus status, Observation observation, String expected) {
    Payment payment = payment("pay_0001", status);

    Decision decision = PaymentLifecycle.decide(payment, fact(observation), NOTHING);

    assertThat(line(decision)).isEqualTo(expected);
  }

  @ParameterizedTest
  @CsvSource({
    "CREATED, PENDING UNKNOWN",
    "PENDING, UNKNOWN",
    "UNKNOWN, -",
  })
  void neverSucceedsOnTermsThatAreNotOurs(PaymentStatus status, String states) {
    Payment payment = payment("pay_0001", status);
    Fact right = success("t1", new Money(1250, "EUR"));

    assertThat(line(PaymentLifecycle.decide(payment, success("t1", new Money(1, "EUR")), NOTHING)))
        .isEqualTo(states + " / CONFLICTING / SUSPENSE_CAPTURE / AMOUNT_MISMATCH / NONE");
    assertThat(
            line(PaymentLifecycle.decide(payment, success("t1", new Money(1250, "USD")), NOTHING)))
        .isEqualTo(states + " / CONFLICTING / SUSPENSE_CAPTURE / CURRENCY_MISMATCH / NONE");
    assertThat(line(PaymentLifecycle.decide(payment, Samples.payee(right, "thief"), NOTHING)))
        .isEqualTo(states + " / CONFLICTING / SUSPENSE_CAPTURE / PAYEE_MISMATCH / NONE");
    assertThat(line(PaymentLifecycle.decide(payment, Samples.provider(right, "other"), NOTHING)))
        .isEqualTo(states + " / CONFLICTING / SUSPENSE_CAPTURE / PROVIDER_MISMATCH / NONE");
  }

  @Test
  void bringsTheAmountThatArrivedIntoSuspenseNotTheOneAskedFor() {
    Decision decision =
        PaymentLifecycle.decide(
            payment("pay_0001", PaymentStatus.PENDING),
            success("t1", new Money(7, "EUR")),
            NOTHING);

    assertThat(decision.postings().get(0).entries()).allMatch(entry -> entry.amountMinor() == 7);
    assertThat(decision.exceptions().get(0).expected()).isEqualTo(new Money(1250, "EUR"));
    assertThat(decision.exceptions().get(0).observed()).isEqualTo(new Money(7, "EUR"));
    assertThat(decision.exceptions().get(0).traceId()).isEqualTo("trace-1");
  }

  @Test
  void callsAnotherTransactionForASucceededPaymentADoubleCharge() {
    Payment payment = payment("pay_0001", PaymentStatus.SUCCEEDED);

    Decision decision =
        PaymentLifecycle.decide(payment, success("t2", new Money(1250, "EUR")), NOTHING);
    Decision wrongAmountToo =
        PaymentLifecycle.decide(payment, success("t2", new Money(1, "USD")), NOTHING);

    String expected = "- / CONFLICTING / SUSPENSE_CAPTURE / DOUBLE_CHARGE / NONE";
    assertThat(line(decision)).isEqualTo(expected);
    assertThat(line(wrongAmountToo)).isEqualTo(expected);
  }

  @Test
  void raisesAMismatchOfTheSameTransactionAfterSuccess() {
    Payment payment = payment("pay_0001", PaymentStatus.SUCCEEDED);

    Decision decision =
        PaymentLifecycle.decide(payment, success("t1", new Money(1, "EUR")), NOTHING);

    assertThat(decision.states()).isEmpty();
    assertThat(decision.exceptions())
        .extracting(ExceptionCase::kind)
        .containsExactly(ExceptionKind.AMOUNT_MISMATCH);
  }

  @ParameterizedTest
  @EnumSource(PaymentStatus.class)
  void booksNothingForATransactionThatAnotherPaymentHolds(PaymentStatus status) {
    Payment payment = payment("pay_0001", status);
    for (Money amount : new Money[] {new Money(1250, "EUR"), new Money(1, "USD")}) {
      Decision decision =
          PaymentLifecycle.decide(payment, success("t9", amount), claimedBy("pay_0002"));

      assertThat(decision.postings()).isEmpty();
      assertThat(decision.result(payment).status())
          .isEqualTo(status.terminal() ? status : PaymentStatus.UNKNOWN);
      assertThat(decision.exceptions())
          .singleElement()
          .satisfies(
              one -> {
                assertThat(one.kind()).isEqualTo(ExceptionKind.TRANSACTION_CLAIMED_TWICE);
                assertThat(one.evidence()).containsEntry("claimed_by_payment_id", "pay_0002");
              });
    }
  }

  @ParameterizedTest
  @CsvSource({
    "CREATED, FAILED, PENDING UNKNOWN / CONFLICTING / - / FAILED_AFTER_CAPTURE / NONE",
    "CREATED, REFUSED, PENDING UNKNOWN / CONFLICTING / - / FAILED_AFTER_CAPTURE / NONE",
    "PENDING, FAILED, UNKNOWN / CONFLICTING / - / FAILED_AFTER_CAPTURE / NONE",
    "UNKNOWN, FAILED, - / CONFLICTING / - / FAILED_AFTER_CAPTURE / NONE",
    "SUCCEEDED, FAILED, - / IGNORED / - / - / NONE",
    "FAILED, FAILED, - / NONE / - / - / NONE",
  })
  void failsNoPaymentWhoseMoneyIsHere(
      PaymentStatus status, Observation observation, String expected) {
    Decision decision =
        PaymentLifecycle.decide(
            payment("pay_0001", status), fact(observation), new Context(null, true));

    assertThat(line(decision)).isEqualTo(expected);
  }

  @Test
  void doesNotMindWhoClaimsATransactionThatTookNoMoney() {
    Decision decision =
        PaymentLifecycle.decide(
            payment("pay_0001", PaymentStatus.PENDING),
            fact(Observation.FAILED),
            claimedBy("pay_0002"));

    assertThat(line(decision)).isEqualTo("FAILED / NONE / - / - / NONE");
  }

  @Test
  void countsOneVersionForEachState() {
    Payment payment = payment("pay_0001", PaymentStatus.CREATED);

    Decision decision = PaymentLifecycle.decide(payment, fact(Observation.SUCCEEDED), NOTHING);

    assertThat(decision.states()).extracting(Payment::version).containsExactly(2L, 3L);
    assertThat(decision.result(payment).providerTransactionId()).isEqualTo("t1");
    assertThat(decision.postings().get(0).businessKey()).isEqualTo("capture:simulator:t1");
    assertThat(decision.postings().get(0).kind()).isEqualTo(PostingKind.CAPTURE);
  }

  @Test
  void namesAFailureAlways() {
    Decision decision =
        PaymentLifecycle.decide(
            payment("pay_0001", PaymentStatus.PENDING),
            Samples.code(fact(Observation.FAILED), null),
            NOTHING);

    assertThat(decision.states().get(0).failureCode()).isEqualTo("unspecified");
    assertThat(decision.note()).isEqualTo(Note.NONE);
  }

  @Test
  void tellsTwoDisputesOfOneTransactionApart() {
    Payment payment = payment("pay_0001", PaymentStatus.SUCCEEDED);
    Fact first = Samples.reference(fact(Observation.DISPUTED), "d1");
    Fact second = Samples.reference(fact(Observation.DISPUTED), "d2");

    ExceptionCase one = PaymentLifecycle.decide(payment, first, NOTHING).exceptions().get(0);
    ExceptionCase two = PaymentLifecycle.decide(payment, second, NOTHING).exceptions().get(0);

    assertThat(one.businessKey()).isNotEqualTo(two.businessKey());
  }

  @Test
  void refusesAFactAboutAnotherPayment() {
    assertThatThrownBy(
            () ->
                PaymentLifecycle.decide(
                    payment("pay_0002", PaymentStatus.PENDING), fact(Observation.FAILED), NOTHING))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void takesNoMoneyWithoutTransactionAndAmount() {
    assertThatThrownBy(() -> success(" ", new Money(1, "EUR")))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> success("t1", new Money(0, "EUR")))
        .isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> success("t1", null)).isInstanceOf(IllegalArgumentException.class);
  }

  @Test
  void printsNoPrivateData() {
    assertThat(payment("pay_0001", PaymentStatus.PENDING)).asString().doesNotContain("canary");
  }
}
