package io.payrelay.simulator.stripe;

import java.util.Locale;
import java.util.Set;

/**
 * Between Stripe's units and ISO 4217 minor units; written apart from the adapter's own table, so
 * that each checks the other. Stateless.
 */
public final class StripeUnits {
  private static final int HUNDRED = 100;
  private static final int TEN = 10;

  /** Whole in ISO's table, with two decimals that must be zero at Stripe. */
  private static final Set<String> WHOLE = Set.of("isk", "ugx");

  private static final Set<String> THREE_DECIMALS = Set.of("bhd", "jod", "kwd", "omr", "tnd");

  private StripeUnits() {}

  /** Refuses an amount that Stripe would. */
  public static void check(long amount, String currency) {
    boolean wrong =
        amount < 1
            || (WHOLE.contains(currency) && amount % HUNDRED != 0)
            || (THREE_DECIMALS.contains(currency) && amount % TEN != 0);
    if (wrong) {
      throw StripeError.invalid(
          "parameter_invalid_integer", "amount", "This amount is not one of this currency.");
    }
  }

  /** ISO 4217 minor units. */
  public static long minor(long amount, String currency) {
    if (WHOLE.contains(currency)) {
      return amount / HUNDRED;
    }
    // The ariary has two decimals in ISO's table and none at Stripe.
    return currency.equals("mga") ? amount * HUNDRED : amount;
  }

  /** Stripe's units of ISO 4217 minor units. */
  public static long amount(long minor, String currency) {
    if (WHOLE.contains(currency)) {
      return minor * HUNDRED;
    }
    return currency.equals("mga") ? minor / HUNDRED : minor;
  }

  /** Stripe's way to write an ISO code. */
  public static String lower(String code) {
    return code.toLowerCase(Locale.ROOT);
  }

  /** ISO's way. */
  public static String upper(String currency) {
    return currency.toUpperCase(Locale.ROOT);
  }
}
