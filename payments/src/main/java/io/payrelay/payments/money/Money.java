package io.payrelay.payments.money;

/**
 * An amount in minor units of an ISO 4217 currency. Immutable.
 *
 * @param amountMinor never negative
 */
public record Money(long amountMinor, String currency) {

  private static final int CODE_LENGTH = 3;

  /** Checks what a bug would get wrong. */
  public Money {
    if (amountMinor < 0) {
      throw new IllegalArgumentException("amount is negative");
    }
    if (currency.length() != CODE_LENGTH) {
      throw new IllegalArgumentException("currency is not an ISO 4217 code");
    }
  }
}
