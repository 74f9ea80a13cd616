package io.payrelay.app;

import io.payrelay.platform.config.Settings;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.generic.GenericConfig;
import io.payrelay.providers.generic.GenericProvider;
import io.payrelay.providers.stripe.StripeConfig;
import io.payrelay.providers.stripe.StripeProvider;
import io.payrelay.providers.stripe.StripeWebhooks;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;

/** The providers that charges are sent to, from the environment. Stateless. */
final class ProviderParts {

  private ProviderParts() {}

  /**
   * Opens an adapter for each configured provider.
   *
   * @throws PayrelayException FATAL where the settings do not fit together
   */
  static List<PaymentProvider> open(Settings settings, InstantSource clock) {
    StripeConfig stripe = stripe(settings);
    if (stripe.charges() && settings.read(GenericConfig.NAME).equals(StripeWebhooks.NAME)) {
      throw new PayrelayException(
          Category.FATAL,
          "%s is \"%s\" although %s is set: two providers cannot have one name; change the first or empty the second"
              .formatted(
                  GenericConfig.NAME.name(), StripeWebhooks.NAME, StripeConfig.API_KEY.name()));
    }
    List<PaymentProvider> providers = new ArrayList<>();
    providers.add(new GenericProvider(GenericConfig.from(settings), clock));
    if (stripe.charges()) {
      providers.add(new StripeProvider(stripe, clock));
    }
    return List.copyOf(providers);
  }

  private static StripeConfig stripe(Settings settings) {
    try {
      return StripeConfig.from(settings);
    } catch (IllegalArgumentException e) {
      // Names the setting, never its value.
      throw new PayrelayException(
          Category.FATAL, "The settings of Stripe are wrong: " + e.getMessage(), e);
    }
  }
}
