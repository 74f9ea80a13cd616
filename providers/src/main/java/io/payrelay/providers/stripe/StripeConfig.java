package io.payrelay.providers.stripe;

import io.payrelay.platform.config.Secret;
import io.payrelay.platform.config.Setting;
import io.payrelay.platform.config.Settings;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * How to call Stripe. Immutable.
 *
 * @param apiKey empty: nothing is charged through Stripe
 * @param liveMode whose objects are ours: those of live mode, or those of test mode
 * @param account the connected account that calls are made for; empty: the key's own
 */
public record StripeConfig(
    Secret apiKey,
    URI url,
    boolean liveMode,
    String account,
    Duration connectTimeout,
    Duration queryLag,
    int queryPagesMax) {

  public static final Setting<Secret> API_KEY =
      Setting.secret(
          "PAYRELAY_STRIPE_API_KEY",
          "",
          "secret or restricted key of Stripe (sk_..., rk_...); empty: nothing is charged through"
              + " Stripe");
  public static final Setting<URI> URL =
      Setting.uri(
          "PAYRELAY_STRIPE_URL",
          "https://api.stripe.com",
          "address of Stripe's API without /v1; https, or on this machine for tests");
  public static final Setting<Duration> CONNECT_TIMEOUT =
      Setting.millis(
          "PAYRELAY_STRIPE_CONNECT_TIMEOUT_MS",
          "5000",
          50,
          60_000,
          "how long to wait for a connection to Stripe");
  public static final Setting<Duration> QUERY_LAG =
      Setting.millis(
          "PAYRELAY_STRIPE_QUERY_LAG_MS",
          "60000",
          0,
          86_400_000,
          "how long a new payment intent may be missing from Stripe's lists");
  public static final Setting<Integer> QUERY_PAGES_MAX =
      Setting.integer(
          "PAYRELAY_STRIPE_QUERY_PAGES_MAX",
          "50",
          1,
          1_000,
          "pages of 100 payment intents that one look-up reads at most");

  /** All of them. */
  public static final List<Setting<?>> SETTINGS =
      List.of(
          API_KEY,
          URL,
          StripeWebhookConfig.LIVE_MODE,
          StripeWebhookConfig.ACCOUNT,
          CONNECT_TIMEOUT,
          QUERY_LAG,
          QUERY_PAGES_MAX);

  private static final Pattern KEY = Pattern.compile("[sr]k_(live|test)_[\\x21-\\x7e]{8,250}");
  private static final Pattern CONNECTED = Pattern.compile("acct_[0-9A-Za-z_]{1,64}");
  private static final Set<String> LOOPBACK = Set.of("localhost", "127.0.0.1", "[::1]");

  /** Checks what would charge the wrong account, or show the key to somebody. */
  public StripeConfig {
    String key = apiKey.reveal();
    if (!key.isEmpty() && !KEY.matcher(key).matches()) {
      throw new IllegalArgumentException(
          API_KEY.name() + " is not a secret or restricted key (sk_live_..., rk_test_...)");
    }
    if (!key.isEmpty() && key.startsWith("_live_", 2) != liveMode) {
      throw new IllegalArgumentException(
          "%s is of %s mode, but %s is %s"
              .formatted(
                  API_KEY.name(),
                  liveMode ? "test" : "live",
                  StripeWebhookConfig.LIVE_MODE.name(),
                  liveMode));
    }
    boolean loopback = url.getHost() != null && LOOPBACK.contains(url.getHost());
    if (!"https".equals(url.getScheme()) && !loopback) {
      throw new IllegalArgumentException(
          URL.name() + " is neither https nor on this machine: the key would be sent in the clear");
    }
    if (!account.isEmpty() && !CONNECTED.matcher(account).matches()) {
      throw new IllegalArgumentException(
          StripeWebhookConfig.ACCOUNT.name() + " is not the id of an account (acct_...)");
    }
  }

  /** Are charges made through Stripe? */
  public boolean charges() {
    return !apiKey.reveal().isEmpty();
  }

  /**
   * Reads the checked settings.
   *
   * @throws IllegalArgumentException where they do not fit together; never with a secret in it
   */
  public static StripeConfig from(Settings settings) {
    return new StripeConfig(
        settings.read(API_KEY),
        settings.read(URL),
        settings.read(StripeWebhookConfig.LIVE_MODE),
        settings.read(StripeWebhookConfig.ACCOUNT),
        settings.read(CONNECT_TIMEOUT),
        settings.read(QUERY_LAG),
        settings.read(QUERY_PAGES_MAX));
  }
}
