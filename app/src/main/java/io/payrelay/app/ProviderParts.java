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

/**
 * The providers that charges are sent to, from the environment. Immutable.
 *
 * @param generic called where it has an address
 * @param stripe called where it has a key
 */
record ProviderParts(GenericConfig generic, StripeConfig stripe) {

  /**
   * Reads the checked settings.
   *
   * @throws PayrelayException FATAL where they do not fit together
   */
  static ProviderParts from(Settings settings) {
    GenericConfig generic = GenericConfig.from(settings);
    StripeConfig stripe = stripe(settings);
    if (!generic.charges() && !stripe.charges()) {
      throw wrong(
          "No provider is configured: set %s or %s"
              .formatted(GenericConfig.URL.name(), StripeConfig.API_KEY.name()));
    }
    if (generic.charges() && generic.apiKey().reveal().isEmpty()) {
      throw wrong(
          "%s is not set although %s is: %s"
              .formatted(
                  GenericConfig.API_KEY.name(),
                  GenericConfig.URL.name(),
                  GenericConfig.API_KEY.description()));
    }
    if (generic.charges() && stripe.charges() && generic.name().equals(StripeWebhooks.NAME)) {
      throw wrong(
          "%s is \"%s\" although %s is set: two providers cannot have one name; change the first or empty the second"
              .formatted(
                  GenericConfig.NAME.name(), StripeWebhooks.NAME, StripeConfig.API_KEY.name()));
    }
    return new ProviderParts(generic, stripe);
  }

  /** Opens an adapter for each. */
  List<PaymentProvider> open(InstantSource clock) {
    List<PaymentProvider> providers = new ArrayList<>();
    if (generic.charges()) {
      providers.add(new GenericProvider(generic, clock));
    }
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

  private static PayrelayException wrong(String sentence) {
    return new PayrelayException(Category.FATAL, sentence);
  }
}
