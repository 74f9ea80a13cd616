package io.payrelay.providers.stripe;

import io.payrelay.platform.config.Secret;
import io.payrelay.platform.config.Setting;
import io.payrelay.platform.config.Settings;
import java.time.Duration;
import java.util.List;

/**
 * How to believe Stripe's webhooks. Immutable.
 *
 * @param secrets several while a new one replaces an old one; none: Stripe's webhooks are not taken
 * @param liveMode whose events are ours: those of live mode, or those of test mode
 * @param account the connected account whose events are ours; empty: our own account's
 */
public record StripeWebhookConfig(
    List<Secret> secrets, Duration tolerance, boolean liveMode, String account) {

  public static final Setting<List<Secret>> SECRETS =
      Setting.secrets(
          "PAYRELAY_STRIPE_WEBHOOK_SECRETS",
          "",
          "signing secrets of the Stripe endpoint, each whsec_...; empty: no webhooks of Stripe are"
              + " taken");
  public static final Setting<Duration> TOLERANCE =
      Setting.millis(
          "PAYRELAY_STRIPE_WEBHOOK_TOLERANCE_MS",
          "300000",
          1_000,
          3_600_000,
          "how far a Stripe webhook's timestamp may be from our clock, either way");
  public static final Setting<Boolean> LIVE_MODE =
      Setting.flag(
          "PAYRELAY_STRIPE_LIVE_MODE",
          "true",
          "true: key, answers and events are of Stripe's live mode, false: of its test mode; others are"
              + " refused");
  public static final Setting<String> ACCOUNT =
      Setting.text(
          "PAYRELAY_STRIPE_ACCOUNT",
          "",
          "connected account (acct_...) that calls are made for and whose events are taken; empty: the"
              + " own account");

  /** All of them. */
  public static final List<Setting<?>> SETTINGS = List.of(SECRETS, TOLERANCE, LIVE_MODE, ACCOUNT);

  /** Copies the list. */
  public StripeWebhookConfig {
    secrets = List.copyOf(secrets);
  }

  /** Reads the checked settings. */
  public static StripeWebhookConfig from(Settings settings) {
    return new StripeWebhookConfig(
        settings.read(SECRETS),
        settings.read(TOLERANCE),
        settings.read(LIVE_MODE),
        settings.read(ACCOUNT));
  }
}
