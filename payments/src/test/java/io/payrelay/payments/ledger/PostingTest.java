package io.payrelay.payments.ledger;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.payrelay.payments.ledger.Entry.Side;
import io.payrelay.payments.money.Money;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class PostingTest {

  private static final Account BANK_EUR = new Account(AccountKind.BANK, "p", "EUR");
  private static final Account FEES_USD = new Account(AccountKind.FEES, "p", "USD");

  private static Posting posting(Entry... entries) {
    return new Posting("k", PostingKind.ADJUSTMENT, "pay_0001", List.of(entries), Instant.EPOCH);
  }

  @Test
  void balancesPerCurrency() {
    Entry debit = new Entry(BANK_EUR, Side.DEBIT, 5);
    Entry credit = new Entry(BANK_EUR, Side.CREDIT, 5);

    assertThat(posting(debit, credit).entries()).hasSize(2);
    assertThatThrownBy(() -> posting(debit, new Entry(BANK_EUR, Side.CREDIT, 4)))
        .hasMessageContaining("does not balance");
    assertThatThrownBy(() -> posting(debit, new Entry(FEES_USD, Side.CREDIT, 5)))
        .hasMessageContaining("does not balance");
    assertThatThrownBy(() -> posting(debit)).hasMessageContaining("at least two entries");
  }

  @Test
  void hasNoEntriesOfNothing() {
    assertThatThrownBy(() -> new Entry(BANK_EUR, Side.DEBIT, 0))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @ParameterizedTest
  @CsvSource({
    "DISPUTE, suspense:p:EUR, provider_receivable:p:EUR",
    "DISPUTE_WON, provider_receivable:p:EUR, suspense:p:EUR",
    "DISPUTE_LOST, customer_payments:p:EUR, suspense:p:EUR",
    "PROVIDER_REFUND, refunds:p:EUR, provider_receivable:p:EUR",
  })
  void movesMoneyBetweenTheRightAccounts(PostingKind kind, String debit, String credit) {
    Posting posting =
        Postings.movement(kind, "pay_0001", "p", "t1:d1", new Money(5, "EUR"), Instant.EPOCH);

    assertThat(posting.entries())
        .extracting(entry -> entry.side() + " " + entry.account().id())
        .containsExactly("DEBIT " + debit, "CREDIT " + credit);
  }

  @Test
  void movesExplainedMoneyFromSuspenseToTheCustomersPayments() {
    Posting capture = Postings.capture("pay_0001", "p", "t1", new Money(5, "EUR"), Instant.EPOCH);

    Posting posting = Postings.explained(capture);

    assertThat(posting.businessKey()).isEqualTo("adjust:capture:p:t1");
    assertThat(posting.kind()).isEqualTo(PostingKind.ADJUSTMENT);
    assertThat(posting.paymentId()).isEqualTo("pay_0001");
    assertThat(posting.entries())
        .extracting(entry -> entry.side() + " " + entry.account().id() + " " + entry.amountMinor())
        .containsExactly("DEBIT suspense:p:EUR 5", "CREDIT customer_payments:p:EUR 5");
  }

  @Test
  void booksOneTransactionUnderOneKeyWhetherExplainedOrNot() {
    Money amount = new Money(5, "EUR");

    assertThat(Postings.capture("pay_0001", "p", "t1", amount, Instant.EPOCH).businessKey())
        .isEqualTo(
            Postings.suspenseCapture("pay_0002", "p", "t1", amount, Instant.EPOCH).businessKey());
  }

  @Test
  void refusesMoneyThatIsNone() {
    assertThatThrownBy(() -> new Money(-1, "EUR")).isInstanceOf(IllegalArgumentException.class);
    assertThatThrownBy(() -> new Money(1, "EURO")).isInstanceOf(IllegalArgumentException.class);
  }
}
