package io.payrelay.providers.stripe;

import io.payrelay.payments.money.Money;
import io.payrelay.providers.Amounts;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Between ISO 4217 minor units and the amounts of Stripe's API, both ways, exact or not at all. The
 * decimals belong to (Stripe, currency): for a few they are not ISO's. Stateless, safe for any
 * thread.
 */
public final class StripeAmounts {

  /** As a declared capability. */
  static final Amounts AMOUNTS =
      new Amounts() {
        @Override
        public OptionalLong toProvider(Money money) {
          return apiAmount(money);
        }

        @Override
        public Optional<Money> fromProvider(long amount, String currency) {
          return money(amount, currency);
        }
      };

  private static final int USUAL_DECIMALS = 2;

  /** What Stripe takes for payments with two decimals, as ISO does. */
  private static final String TWO_DECIMALS =
      """
      AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BWP BYN BZD CAD CDF
      CHF CNY COP CRC CVE CZK DKK DOP DZD EGP ETB EUR FJD FKP GBP GEL GIP GMD GTQ GYD HKD HNL HTG HUF
      IDR ILS INR JMD KES KGS KHR KYD KZT LAK LBP LKR LRD LSL MAD MDL MKD MMK MNT MOP MUR MVR MWK MXN
      MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SEK SGD SHP
      SLE SOS SRD STN SZL THB TJS TOP TRY TTD TWD TZS UAH USD UYU UZS WST XCD XCG YER ZAR ZMW
      """;

  private static final String ZERO_DECIMALS =
      "BIF CLP DJF GNF JPY KMF KRW MGA PYG RWF VND VUV XAF XOF XPF";

  /** ISO has none, Stripe's API has two that must be 00. */
  private static final String TWO_THAT_ARE_ZERO = "ISK UGX";

  /** Stripe takes them with three, the last of which must be 0. */
  private static final String THREE_DECIMALS = "BHD JOD KWD OMR TND";

  private static final long LAST_DIGIT = 10;

  private static final Map<String, Decimals> DECIMALS = decimals();

  /**
   * Decimals of a currency.
   *
   * @param api in Stripe's amounts
   * @param minor in ISO 4217's minor units
   * @param roundTo what amounts that we send must be a multiple of
   */
  private record Decimals(int api, int minor, long roundTo) {}

  private StripeAmounts() {}

  /**
   * Money of an amount as Stripe writes it.
   *
   * @param currency in lower case, as Stripe writes it
   * @return empty for a currency that Stripe does not take, and where minor units cannot say it
   */
  public static Optional<Money> money(long apiAmount, String currency) {
    String code = currency.toUpperCase(Locale.ROOT);
    Decimals decimals = currency.equals(code) ? null : DECIMALS.get(code);
    if (decimals == null || apiAmount < 0) {
      return Optional.empty();
    }
    OptionalLong minor = shifted(apiAmount, decimals.minor() - decimals.api());
    return minor.isEmpty() ? Optional.empty() : Optional.of(new Money(minor.getAsLong(), code));
  }

  /**
   * The amount to send to Stripe, with the currency in lower case.
   *
   * @return empty where Stripe would refuse or round it: it is not sent
   */
  public static OptionalLong apiAmount(Money money) {
    Decimals decimals = DECIMALS.get(money.currency());
    if (decimals == null) {
      return OptionalLong.empty();
    }
    OptionalLong amount = shifted(money.amountMinor(), decimals.api() - decimals.minor());
    return amount.isPresent() && amount.getAsLong() % decimals.roundTo() == 0
        ? amount
        : OptionalLong.empty();
  }

  /** The number with its decimal point moved, where it stays a whole number that fits. */
  private static OptionalLong shifted(long amount, int places) {
    long factor = 1;
    for (int i = 0; i < Math.abs(places); i++) {
      factor *= LAST_DIGIT;
    }
    if (places < 0) {
      return amount % factor == 0 ? OptionalLong.of(amount / factor) : OptionalLong.empty();
    }
    return amount <= Long.MAX_VALUE / factor
        ? OptionalLong.of(amount * factor)
        : OptionalLong.empty();
  }

  private static Map<String, Decimals> decimals() {
    Map<String, Decimals> decimals = new HashMap<>();
    for (String code : TWO_DECIMALS.strip().split("\\s+", -1)) {
      decimals.put(code, new Decimals(USUAL_DECIMALS, USUAL_DECIMALS, 1));
    }
    for (String code : ZERO_DECIMALS.split(" ", -1)) {
      // The ariary has two decimals in ISO's table and none at Stripe.
      decimals.put(code, new Decimals(0, code.equals("MGA") ? USUAL_DECIMALS : 0, 1));
    }
    for (String code : TWO_THAT_ARE_ZERO.split(" ", -1)) {
      decimals.put(code, new Decimals(USUAL_DECIMALS, 0, 1));
    }
    for (String code : THREE_DECIMALS.split(" ", -1)) {
      decimals.put(code, new Decimals(USUAL_DECIMALS + 1, USUAL_DECIMALS + 1, LAST_DIGIT));
    }
    return Map.copyOf(decimals);
  }
}
