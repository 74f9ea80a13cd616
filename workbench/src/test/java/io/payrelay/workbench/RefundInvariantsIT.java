package io.payrelay.workbench;

import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.localstack.TestDatabase;
import io.payrelay.localstack.TestInfra;
import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.money.Money;
import io.payrelay.payments.store.FactStore;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.Migrations;
import io.payrelay.simulator.RefundStatus;
import io.payrelay.simulator.SimulatedRefund;
import io.payrelay.workbench.RefundInvariants.Compared;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.Jdbi;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.postgresql.ds.PGSimpleDataSource;

/** What the judge of a run has to notice about refunds. */
@Timeout(60)
class RefundInvariantsIT {

  private static final Money PRICE = new Money(1000, "EUR");
  private static final Money PART = new Money(400, "EUR");
  private static final Instant NOW = Instant.parse("2026-11-29T12:00:00Z");

  private final Jdbi owner = migrated();

  @Test
  void whatTheProviderAndWeShowOtherwiseIsCounted() {
    paidAndGivenBack("pay_back_1", "ref_back_1");
    paidAndGivenBack("pay_back_2", "ref_back_2");
    SimulatedRefund first = made("re_1", "ref_back_1", 400, true);
    SimulatedRefund second = made("re_2", "ref_back_2", 400, true);

    assertThat(compare()).as("both asked for, none made").isEqualTo(new Compared(0, 0));
    refunded("pay_back_1", "ref_back_1", "re_1", Observation.SUCCEEDED);
    refunded("pay_back_2", "ref_back_2", "re_2", Observation.SUCCEEDED);
    assertThat(compare(first, second)).isEqualTo(new Compared(0, 0));
    assertThat(compare(first).differences()).as("ours alone").isEqualTo(2);
    assertThat(compare(first, made("re_2", "ref_back_2", 399, true)).differences())
        .as("another amount, in the row and in the ledger")
        .isEqualTo(2);
    assertThat(compare(first, second, made("re_3", "ref_back_2", 400, true)))
        .as("made twice, and booked once")
        .isEqualTo(new Compared(1, 1));
    assertThat(compare(first, second, made("re_4", "ref_nobody", 1, true)).differences())
        .as("nobody here has asked for it")
        .isEqualTo(2);

    refunded("pay_back_2", "ref_back_2", "re_2", Observation.FAILED);
    assertThat(compare(first, second).differences()).as("it never came back").isEqualTo(1);
    SimulatedRefund returned = made("re_2", "ref_back_2", 400, false);
    assertThat(compare(first, returned)).isEqualTo(new Compared(0, 0));

    paidAndGivenBack("pay_back_3", "ref_back_3");
    refunded("pay_back_3", "ref_back_3", "re_5", Observation.FAILED);
    assertThat(compare(first, returned, made("re_5", "ref_back_3", 400, false)))
        .as("came back before we learnt that it had succeeded")
        .isEqualTo(new Compared(0, 0));
    assertThat(compare(first, returned, made("re_5", "ref_back_3", 400, true)).differences())
        .as("called failed, and the customer has the money")
        .isEqualTo(2);
  }

  @Test
  void moneyThatCameBackUnseenOrWasBookedTwiceIsCounted() {
    paidAndGivenBack("pay_back_1", "ref_back_1");
    paidAndGivenBack("pay_back_2", "ref_back_2");
    refunded("pay_back_1", "ref_back_1", "re_1", Observation.SUCCEEDED);
    refunded("pay_back_2", "ref_back_2", "re_2", Observation.SUCCEEDED);
    refunded("pay_back_2", "ref_back_2", "re_2", Observation.FAILED);
    SimulatedRefund first = made("re_1", "ref_back_1", 400, true);
    SimulatedRefund unseen = made("re_1", "ref_back_1", 400, false);
    SimulatedRefund returned = made("re_2", "ref_back_2", 400, false);

    assertThat(compare(first, returned).differences()).isZero();
    assertThat(compare(unseen, returned).differences()).as("webhooks told of it").isEqualTo(1);
    assertThat(compare(1, unseen, returned).differences()).as("one was lost").isZero();
    assertThat(otherCases()).as("the case of the returned one is right").isZero();

    tamper(
        "UPDATE payrelay.ledger_entry SET amount_minor = 399 WHERE posting_id IN"
            + " (SELECT posting_id FROM payrelay.ledger_posting WHERE kind = 'REFUND_RETURNED')");
    assertThat(compare(first, returned).differences()).as("another amount back").isEqualTo(1);
    tamper(
        """
        INSERT INTO payrelay.ledger_posting (business_key, kind, payment_id, event_at)
        SELECT 'again:' || business_key, kind, payment_id, event_at FROM payrelay.ledger_posting
        WHERE kind = 'REFUND' AND payment_id = 'pay_back_1'
        """,
        """
        INSERT INTO payrelay.ledger_entry
        SELECT twice.posting_id, e.entry_number, e.account_id, e.side, e.amount_minor, e.currency
        FROM payrelay.ledger_posting twice
        JOIN payrelay.ledger_posting once ON twice.business_key = 'again:' || once.business_key
        JOIN payrelay.ledger_entry e ON e.posting_id = once.posting_id
        """,
        """
        UPDATE payrelay.exception_case SET evidence = jsonb_set(evidence, '{refund_id}', '"ref_back_1"')
        WHERE kind = 'REFUND_RETURNED'
        """);
    assertThat(compare(first, returned).differences()).as("and one booked twice").isEqualTo(2);
    assertThat(otherCases()).as("a case of one that is not returned").isEqualTo(1);
  }

  private Compared compare(SimulatedRefund... atProvider) {
    return compare(0, atProvider);
  }

  private Compared compare(long webhooksLost, SimulatedRefund... atProvider) {
    Set<String> cameBack =
        Stream.of(atProvider)
            .filter(refund -> !refund.moneyReturned())
            .map(SimulatedRefund::id)
            .collect(Collectors.toSet());
    return owner.withHandle(
        tx ->
            RefundInvariants.compare(
                tx,
                new RefundInvariants.AtProvider(
                    cameBack, webhooksLost, () -> List.of(atProvider))));
  }

  private long otherCases() {
    return owner.withHandle(RefundInvariants::otherCases);
  }

  /** As a fault of ours would leave it, with the guards of the ledger put aside. */
  private void tamper(String... statements) {
    owner.useTransaction(
        tx -> {
          tx.execute("SET LOCAL session_replication_role = replica");
          for (String statement : statements) {
            assertThat(tx.execute(statement)).as(statement).isPositive();
          }
        });
  }

  private static SimulatedRefund made(
      String id, String ours, long amountMinor, boolean moneyReturned) {
    return new SimulatedRefund(
        id,
        ours,
        "ch_" + ours,
        "pay_any",
        moneyReturned ? RefundStatus.SUCCEEDED : RefundStatus.FAILED,
        amountMinor,
        "EUR",
        null,
        NOW,
        "key",
        moneyReturned,
        true,
        1);
  }

  private void paidAndGivenBack(String payment, String refund) {
    owner.useTransaction(
        tx -> {
          tx.select(
                  "SELECT payrelay.request_payment(?, 'shop', ?, 'simulator', 1000, 'EUR')",
                  payment,
                  payment)
              .mapTo(String.class)
              .one();
          apply(tx, fact(payment, Observation.SUCCEEDED, PRICE, null, null));
          tx.select("SELECT payrelay.request_refund(?, ?, 400, 'EUR')", refund, payment)
              .mapTo(String.class)
              .one();
        });
  }

  private void refunded(String payment, String refund, String providerId, Observation seen) {
    owner.useTransaction(tx -> apply(tx, fact(payment, seen, PART, providerId, refund)));
  }

  private static void apply(Handle tx, Fact fact) {
    assertThat(new FactStore().apply(tx, List.of(fact), NOW)).hasSize(1);
  }

  private static Fact fact(
      String payment,
      Observation seen,
      Money amount,
      @Nullable String reference,
      @Nullable String refund) {
    return new Fact(
        FactSource.RESPONSE,
        "simulator",
        payment,
        seen,
        "ch_" + payment,
        amount,
        null,
        reference,
        seen == Observation.FAILED ? "bank_closed" : null,
        NOW,
        Map.of(),
        refund);
  }

  private static Jdbi migrated() {
    TestDatabase database = TestInfra.shared().newDatabase();
    PGSimpleDataSource source = new PGSimpleDataSource();
    source.setUrl(database.jdbcUrl());
    source.setUser(database.user());
    source.setPassword(database.password());
    try {
      Migrations.migrate(source, EventCatalogue.builtIn());
    } catch (SQLException e) {
      throw new IllegalStateException(e);
    }
    return Jdbi.create(source);
  }
}
