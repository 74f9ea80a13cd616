package io.payrelay.providers.stripe;

import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.payments.money.Money;
import java.math.BigDecimal;
import java.util.Currency;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.LongRange;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Source: cartalyst/stripe #59 (hundredfold charges), cal.diy PR 30048 (its inverse hid it). */
class StripeAmountsTest {

  @ParameterizedTest
  @CsvSource({
    "JPY, 500, 500",
    "KRW, 500, 500",
    "CLP, 500, 500",
    "EUR, 1999, 1999",
    "CVE, 50000, 50000",
    "KWD, 5120, 5120",
    "MGA, 50000, 500",
    "UGX, 500, 50000",
    "ISK, 500, 50000"
  })
  void convertsExactlyBothWays(String currency, long amountMinor, long apiAmount) {
    Money money = new Money(amountMinor, currency);

    assertThat(StripeAmounts.apiAmount(money)).hasValue(apiAmount);
    assertThat(StripeAmounts.money(apiAmount, currency.toLowerCase(Locale.ROOT))).contains(money);
  }

  @ParameterizedTest
  @CsvSource({"KWD, 5124", "MGA, 50001", "XTS, 100", "IQD, 1000", "UGX, 92233720368547759"})
  void refusesToSendWhatStripeWouldRoundOrRefuse(String currency, long amountMinor) {
    assertThat(StripeAmounts.apiAmount(new Money(amountMinor, currency))).isEmpty();
  }

  @ParameterizedTest
  @CsvSource({"xts, 100", "EUR, 100", "'', 100", "eur, -1", "ugx, 150", "mga, 9223372036854775807"})
  void refusesToReadWhatIsNoAmount(String currency, long apiAmount) {
    assertThat(StripeAmounts.money(apiAmount, currency)).isEmpty();
  }

  @Test
  void readsWhatOnlySendingWouldRound() {
    assertThat(StripeAmounts.money(5124, "kwd")).contains(new Money(5124, "KWD"));
  }

  /** The oracle is the value in major units: ISO's decimals by the JDK, Stripe's by its manual. */
  @Property
  void keepsTheValueInMajorUnits(@ForAll @LongRange(min = 0, max = 1L << 40) long apiAmount) {
    Map<String, Integer> stripesManual =
        Map.of(
            "jpy", 0, "krw", 0, "mga", 0, "vnd", 0, "ugx", 2, "isk", 2, "eur", 2, "huf", 2, "kwd",
            3, "tnd", 3);
    stripesManual.forEach(
        (currency, decimals) ->
            StripeAmounts.money(apiAmount, currency)
                .ifPresent(
                    money -> {
                      int iso = Currency.getInstance(money.currency()).getDefaultFractionDigits();
                      assertThat(BigDecimal.valueOf(money.amountMinor(), iso))
                          .isEqualByComparingTo(BigDecimal.valueOf(apiAmount, decimals));
                    }));
  }

  @Test
  void takesEveryCurrencyWithIsosDecimalsButForThoseThatAreStripesOwn() {
    List<String> codes =
        Currency.getAvailableCurrencies().stream().map(Currency::getCurrencyCode).toList();

    for (String code : codes) {
      StripeAmounts.money(1_000, code.toLowerCase(Locale.ROOT))
          .ifPresent(
              money -> {
                long expected =
                    switch (code) {
                      case "MGA" -> 100_000;
                      case "UGX", "ISK" -> 10;
                      default -> 1_000;
                    };
                assertThat(money.amountMinor()).as(code).isEqualTo(expected);
              });
    }
    assertThat(
            codes.stream()
                .filter(code -> StripeAmounts.money(0, code.toLowerCase(Locale.ROOT)).isPresent()))
        .hasSizeGreaterThan(130);
  }
}
