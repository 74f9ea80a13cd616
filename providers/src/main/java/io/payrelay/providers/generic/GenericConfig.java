package io.payrelay.providers.generic;

import io.payrelay.platform.config.Secret;
import io.payrelay.platform.config.Setting;
import io.payrelay.platform.config.Settings;
import java.net.URI;
import java.time.Duration;
import java.util.List;

/** How to call the generic HTTP provider. Immutable. */
public record GenericConfig(
    String name,
    URI url,
    Secret apiKey,
    Duration connectTimeout,
    Duration keyLifetime,
    Duration queryLag,
    boolean queries) {

  public static final Setting<String> NAME =
      Setting.text("PAYRELAY_PROVIDER_NAME", "simulator", "name that payments give the provider");
  public static final Setting<URI> URL =
      Setting.uri(
          "PAYRELAY_PROVIDER_URL",
          "",
          "address of the provider's API, without /v1; empty: there is no generic provider");
  public static final Setting<Secret> API_KEY =
      Setting.secret(
          "PAYRELAY_PROVIDER_API_KEY",
          "",
          "key that authenticates us to the provider; must be set where the address is");
  public static final Setting<Duration> CONNECT_TIMEOUT =
      Setting.millis(
          "PAYRELAY_PROVIDER_CONNECT_TIMEOUT_MS",
          "3000",
          50,
          60_000,
          "how long to wait for a connection to the provider");
  public static final Setting<Duration> KEY_LIFETIME =
      Setting.millis(
          "PAYRELAY_PROVIDER_KEY_LIFETIME_MS",
          "86400000",
          1_000,
          315_360_000_000L,
          "how long the provider surely remembers an idempotency key");
  public static final Setting<Duration> QUERY_LAG =
      Setting.millis(
          "PAYRELAY_PROVIDER_QUERY_LAG_MS",
          "60000",
          0,
          86_400_000,
          "how long a new charge may be missing from the provider's queries");

  public static final Setting<Boolean> QUERIES =
      Setting.flag(
          "PAYRELAY_PROVIDER_QUERIES",
          "true",
          "whether charges can be looked up; if not, a webhook's failure is final; the same in worker"
              + " and ingest");

  /** All of them. */
  public static final List<Setting<?>> SETTINGS =
      List.of(NAME, URL, API_KEY, CONNECT_TIMEOUT, KEY_LIFETIME, QUERY_LAG, QUERIES);

  /** Are charges made through it? */
  public boolean charges() {
    return !url.toString().isEmpty();
  }

  /** Reads the checked settings. */
  public static GenericConfig from(Settings settings) {
    return new GenericConfig(
        settings.read(NAME),
        settings.read(URL),
        settings.read(API_KEY),
        settings.read(CONNECT_TIMEOUT),
        settings.read(KEY_LIFETIME),
        settings.read(QUERY_LAG),
        settings.read(QUERIES));
  }
}
