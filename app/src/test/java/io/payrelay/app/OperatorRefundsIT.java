package io.payrelay.app;

import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.app.OperatorFixture.Result;
import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.money.Money;
import io.payrelay.payments.store.FactStore;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a person can do about refunds, and about the money of payments that have no end. */
@Timeout(120)
final class OperatorRefundsIT {

  private static final Money PRICE = new Money(1999, "EUR");
  private static final Money ASKED = new Money(500, "EUR");

  private static OperatorFixture fixture;

  @BeforeAll
  static void migrate() {
    fixture = new OperatorFixture();
  }

  @Test
  void aRefundThatFailsIsACaseAgainUntilItsMoneyIsBack() {
    String payment = fixture.payment();
    fixture.fact(payment, FactSource.RESPONSE, Observation.FAILED, null, null);
    fixture.fact(payment, FactSource.WEBHOOK, Observation.SUCCEEDED, "ch_" + payment, PRICE);
    String first = givenBack(fixture.openCase(payment));
    assertThat(open(payment)).isEqualTo("none");

    refund(payment, first, FactSource.RESPONSE, Observation.FAILED, null, null);
    long failed = fixture.openCase(payment);
    assertThat(open(payment)).isEqualTo("REFUND_FAILED 1999");
    assertThat(fixture.run("exceptions", "list", "--payment", payment).out())
        .contains("takes=--refund,--close");
    String second = givenBack(failed);
    refund(payment, second, FactSource.RESPONSE, Observation.SUCCEEDED, PRICE, "re_1" + payment);
    assertThat(open(payment)).isEqualTo("none");

    // It had succeeded, and the money came back after all.
    refund(payment, second, FactSource.QUERY, Observation.FAILED, null, "re_1" + payment);
    assertThat(open(payment)).startsWith("REFUND_RETURNED");
    String third = givenBack(fixture.openCase(payment));
    refund(payment, third, FactSource.RESPONSE, Observation.SUCCEEDED, PRICE, "re_2" + payment);

    assertThat(open(payment)).isEqualTo("none");
    assertThat(refundable(payment)).isEqualTo("0");
  }

  private static String givenBack(long caseId) {
    Result done = fixture.resolve(caseId, "--refund");
    assertThat(done.err()).isEmpty();
    assertThat(done.out()).contains("refund refund_case_" + caseId + " of 1999 EUR");
    return "refund_case_" + caseId;
  }

  @Test
  void moneyOfARefundIsNotGivenBackAgainAndAPersonSaysHowItEnded() {
    String payment = paid();
    String refund = requested(payment);
    String id = "re_" + refund;
    Money left = new Money(501, "EUR");
    refund(payment, refund, FactSource.RESPONSE, Observation.SUCCEEDED, left, id);
    long wrong = fixture.openCase(payment);
    assertThat(fixture.run("exceptions", "list", "--payment", payment).out())
        .contains("kind=AMOUNT_MISMATCH", "takes=--query,--succeeded,--failed,--close");

    assertThat(fixture.resolve(wrong, "--refund").err())
        .contains("is about refund " + refund, "not given back again");
    assertThat(fixture.resolve(wrong, "--failed", "--code", "no").err())
        .contains("which is UNKNOWN, does not become FAILED by that: REFUND_RETURNED");
    assertThat(fixture.resolve(wrong, succeeded(id, 500)).err())
        .contains("the ledger holds that transaction with another amount");
    assertThat(fixture.resolve(wrong, succeeded("ch_" + payment, 501)).err())
        .contains("is the charge that refund " + refund + " gives back");
    assertThat(status(refund)).isEqualTo("UNKNOWN");
    Result done = fixture.resolve(wrong, succeeded(id, 501));

    assertThat(done.err()).isEmpty();
    assertThat(done.out()).contains("UNKNOWN to SUCCEEDED", "is RESOLVED");
    assertThat(status(refund)).isEqualTo("SUCCEEDED");
    assertThat(refundable(payment)).isEqualTo("1498");
    assertThat(
            fixture.text(
                """
                SELECT concat_ws(' ', fact_source, evidence ->> 'by', evidence ->> 'evidence')
                FROM payrelay.refund_event WHERE refund_id = ? AND status = 'SUCCEEDED'
                """,
                refund))
        .isEqualTo("OPERATOR anna ticket 7");
  }

  @Test
  void anUnknownRefundEndsFailedOnAPersonsWordAndOneThatSucceededIsReturned() {
    String payment = paid();
    String refund = requested(payment);
    long id = givenUp(payment, refund);
    assertThat(fixture.resolve(id, "--close").err())
        .contains("refund " + refund + " is UNKNOWN and nobody asks for it any more");
    fixture.execute(
        """
        INSERT INTO payrelay.attempt (operation_id, attempt_number, kind, lease_owner, lease_until)
        SELECT operation_id, 2, 'CALL', 'w', now() + interval '1 minute'
        FROM payrelay.operation WHERE refund_id = ?
        """,
        refund);
    assertThat(fixture.resolve(id, "--failed", "--code", "no").err())
        .contains("is being sent at this moment");
    fixture.execute(
        """
        UPDATE payrelay.attempt SET finished_at = now(), outcome = 'UNKNOWN'
        WHERE lease_owner = 'w' AND operation_id = (SELECT operation_id FROM payrelay.operation WHERE refund_id = ?)
        """,
        refund);

    assertThat(fixture.resolve(id, "--failed", "--code", "never_sent").err()).isEmpty();

    assertThat(status(refund)).isEqualTo("FAILED");
    assertThat(refundable(payment)).isEqualTo("1999");
    assertThat(open(payment)).isEqualTo("none");
    String second = requested(payment);
    refund(payment, second, FactSource.RESPONSE, Observation.SUCCEEDED, ASKED, "re_" + second);
    refund(payment, second, FactSource.WORKER, Observation.UNRESOLVED, null, null);
    Result returned = fixture.resolve(fixture.openCase(payment), "--failed", "--code", "came_back");
    assertThat(returned.err()).isEmpty();
    assertThat(returned.out()).contains("SUCCEEDED to RETURNED");
    assertThat(open(payment)).startsWith("REFUND_RETURNED");
    assertThat(refundable(payment)).isEqualTo("1999");
  }

  @Test
  void anUnknownPaymentWhoseMoneyWentBackIsEndedByAPersonsWord() {
    String payment = fixture.payment();
    long id = fixture.unresolved(payment);
    fixture.fact(
        payment, FactSource.QUERY, Observation.SUCCEEDED, "ch_" + payment, new Money(12, "EUR"));
    long wrong = fixture.openCase(payment);
    String[] failed = {"--failed", "--code", "wrong_amount"};
    assertThat(fixture.resolve(id, failed).err()).contains("FAILED_AFTER_CAPTURE");

    assertThat(fixture.resolve(wrong, "--refund").err()).isEmpty();
    // Asked for is not given back: the payer's money is here still.
    assertThat(fixture.resolve(id, failed).err()).contains("FAILED_AFTER_CAPTURE");
    refund(
        payment,
        "refund_case_" + wrong,
        FactSource.RESPONSE,
        Observation.SUCCEEDED,
        new Money(12, "EUR"),
        "re_" + payment);
    Result done = fixture.resolve(id, failed);

    assertThat(done.err()).isEmpty();
    assertThat(done.out()).contains("UNKNOWN to FAILED");
    assertThat(fixture.status(payment)).isEqualTo("FAILED");

    String disputed = fixture.payment();
    long other = fixture.unresolved(disputed);
    for (Observation said : List.of(Observation.SUCCEEDED, Observation.DISPUTED)) {
      fixture.fact(disputed, FactSource.WEBHOOK, said, "ch_" + disputed, new Money(12, "EUR"));
      assertThat(fixture.resolve(other, failed).err()).as("%s", said).contains("AFTER_CAPTURE");
    }
    fixture.fact(
        disputed,
        FactSource.WEBHOOK,
        Observation.DISPUTE_LOST,
        "ch_" + disputed,
        new Money(12, "EUR"));
    assertThat(fixture.resolve(other, failed).err()).isEmpty();
    assertThat(fixture.status(disputed)).isEqualTo("FAILED");
  }

  private static String paid() {
    String payment = fixture.payment();
    fixture.fact(payment, FactSource.WEBHOOK, Observation.SUCCEEDED, "ch_" + payment, PRICE);
    return payment;
  }

  private static String requested(String payment) {
    return fixture.text(
        """
        SELECT payrelay.request_refund('r' || substr(md5(random()::text), 1, 20), ?, 500, 'EUR')
        """,
        payment);
  }

  /** A refund that is UNKNOWN and about which nobody asks any more; returns its case. */
  private static long givenUp(String payment, String refund) {
    fixture.execute(
        """
        INSERT INTO payrelay.operation (payment_id, refund_id, kind, provider, idempotency_key, request_body,
          request_digest, call_count)
        VALUES (?, ?, 'REFUND', 'simulator', gen_random_uuid()::text, 'b', sha256('b'), 1)
        """,
        payment,
        refund);
    refund(payment, refund, FactSource.RESPONSE, Observation.UNKNOWN, null, null);
    refund(payment, refund, FactSource.WORKER, Observation.UNRESOLVED, null, null);
    return fixture.openCase(payment);
  }

  private static void refund(
      String payment,
      String refund,
      FactSource source,
      Observation observation,
      @Nullable Money amount,
      @Nullable String reference) {
    Fact fact =
        new Fact(
            source,
            "simulator",
            payment,
            observation,
            amount == null ? null : "ch_" + payment,
            amount,
            null,
            reference,
            observation == Observation.FAILED ? "account_closed" : null,
            InstantSource.system().instant(),
            Map.of(),
            refund);
    fixture.owner.useTransaction(
        tx -> new FactStore().apply(tx, List.of(fact), InstantSource.system().instant()));
  }

  private static String[] succeeded(String id, long amountMinor) {
    return new String[] {
      "--succeeded",
      "--transaction-id",
      id,
      "--amount-minor",
      Long.toString(amountMinor),
      "--currency",
      "EUR"
    };
  }

  private static String status(String refund) {
    return fixture.text("SELECT status FROM payrelay.refund WHERE refund_id = ?", refund);
  }

  private static String refundable(String payment) {
    return fixture.text("SELECT refundable_minor FROM payrelay.refundable(?)", payment);
  }

  private static String open(String payment) {
    return fixture.text(
        """
        SELECT concat_ws(' ', kind, observed_amount_minor) FROM payrelay.exception_case
        WHERE payment_id = ? AND status = 'OPEN' ORDER BY 1
        """,
        payment);
  }
}
