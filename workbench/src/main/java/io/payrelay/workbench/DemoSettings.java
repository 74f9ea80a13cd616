package io.payrelay.workbench;

import java.net.URI;
import java.util.HashMap;
import java.util.Map;

/**
 * Settings of the parts in the demo: shorter waits than in production, so that minutes of doubt
 * pass in seconds. The secrets are the simulator's, which serves loopback only.
 */
public final class DemoSettings {

  public static final String API_KEY = "sk_test_simulator";
  public static final String WEBHOOK_SECRET = "whsec_cGF5cmVsYXktc2ltdWxhdG9yLXNlY3JldA==";

  public static final String STRIPE_WEBHOOK_SECRET = "whsec_simulated_stripe_secret_0123";

  private DemoSettings() {}

  /** Of the webhook ingest. */
  public static Map<String, String> ingest() {
    return Map.of(
        "PAYRELAY_INGEST_PORT", "0",
        "PAYRELAY_PROVIDER_NAME", "simulator",
        "PAYRELAY_PROVIDER_WEBHOOK_SECRETS", WEBHOOK_SECRET);
  }

  /** Of the charge worker. */
  public static Map<String, String> worker(URI provider) {
    Map<String, String> settings = new HashMap<>();
    settings.put("PAYRELAY_PROVIDER_NAME", "simulator");
    settings.put("PAYRELAY_PROVIDER_URL", provider.toString());
    settings.put("PAYRELAY_PROVIDER_API_KEY", API_KEY);
    settings.put("PAYRELAY_PROVIDER_QUERY_LAG_MS", "500");
    settings.put("PAYRELAY_CHARGE_CALL_TIMEOUT_MS", "3000");
    settings.put("PAYRELAY_CHARGE_LEASE_MS", "9000");
    settings.put("PAYRELAY_CHARGE_QUERY_DELAYS_MS", "300,700,1500");
    settings.put("PAYRELAY_CHARGE_QUERY_DELAY_CAP_MS", "3000");
    settings.put("PAYRELAY_CHARGE_RETRY_FIRST_MS", "200");
    settings.put("PAYRELAY_CHARGE_RETRY_CAP_MS", "3000");
    return settings;
  }
}
