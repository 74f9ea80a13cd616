package io.payrelay.providers.generic;

import io.payrelay.platform.config.Secret;
import io.payrelay.platform.config.Setting;
import io.payrelay.platform.config.Settings;
import java.time.Duration;
import java.util.List;

/**
 * How to believe the generic HTTP provider's webhooks. Immutable.
 *
 * @param failuresFinal whether a failure ends the payment: only where the provider cannot be asked
 * @param secrets several while a new one replaces an old one; none: its webhooks are not taken
 */
public record GenericWebhookConfig(
    String name, List<Secret> secrets, Duration tolerance, boolean failuresFinal) {

  public static final Setting<List<Secret>> SECRETS =
      Setting.secrets(
          "PAYRELAY_PROVIDER_WEBHOOK_SECRETS",
          "",
          "webhook secrets that are accepted, each whsec_ and Base64; empty: no webhooks of the generic"
              + " provider are taken");
  public static final Setting<Duration> TOLERANCE =
      Setting.millis(
          "PAYRELAY_PROVIDER_WEBHOOK_TOLERANCE_MS",
          "300000",
          1_000,
          3_600_000,
          "how far a webhook's timestamp may be from our clock, either way");

  /** All of them. */
  public static final List<Setting<?>> SETTINGS =
      List.of(GenericConfig.NAME, SECRETS, TOLERANCE, GenericConfig.QUERIES);

  /** Copies the list. */
  public GenericWebhookConfig {
    secrets = List.copyOf(secrets);
  }

  /** Reads the checked settings. */
  public static GenericWebhookConfig from(Settings settings) {
    return new GenericWebhookConfig(
        settings.read(GenericConfig.NAME),
        settings.read(SECRETS),
        settings.read(TOLERANCE),
        !settings.read(GenericConfig.QUERIES));
  }
}
