package io.payrelay.payments.ledger;

/** One line of a posting. Immutable. */
public record Entry(Account account, Side side, long amountMinor) {

  /** Which side of the account. */
  public enum Side {
    DEBIT,
    CREDIT
  }

  /** An entry of nothing is a bug. */
  public Entry {
    if (amountMinor <= 0) {
      throw new IllegalArgumentException("an entry's amount is positive");
    }
  }
}
