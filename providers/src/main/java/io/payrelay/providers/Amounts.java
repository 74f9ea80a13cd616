package io.payrelay.providers;

import io.payrelay.payments.money.Money;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * A provider's units of money: between ISO 4217 minor units and the whole numbers of its API, both
 * ways, exact or not at all. Implementations are stateless and safe for any thread.
 */
public interface Amounts {

  /** Minor units as they are: the currency in capitals, any amount that is positive. */
  Amounts MINOR_UNITS =
      new Amounts() {
        @Override
        public OptionalLong toProvider(Money money) {
          return OptionalLong.of(money.amountMinor());
        }

        @Override
        public Optional<Money> fromProvider(long amount, String currency) {
          return amount < 0 ? Optional.empty() : Optional.of(new Money(amount, currency));
        }
      };

  /** The number to send; empty where the provider would refuse or round it: it is not sent. */
  OptionalLong toProvider(Money money);

  /**
   * Money of a number and a currency as the provider writes them; empty where minor units cannot
   * say it.
   */
  Optional<Money> fromProvider(long amount, String currency);
}
