package io.payrelay.simulator;

import java.net.URI;
import java.time.Clock;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Settings of a {@link ProviderSimulator}. Immutable; made by {@link #builder()}.
 *
 * @param port 0 takes a free one
 * @param webhookSecret {@code whsec_} and base64 of 24 to 64 bytes
 * @param webhookUrl where webhooks go; absent means that they are counted and dropped
 * @param stripeWebhookSecret {@code whsec_} and whatever follows
 * @param stripeWebhookUrl where webhooks of the Stripe face go; absent: counted and dropped
 * @param latency how long each honest answer takes
 * @param keyLife after this an idempotency key is forgotten and the same key makes a new charge
 * @param queryLag a charge is visible to queries only so long after its creation
 * @param hangMax the longest an unanswered call is held if its client does not go away; then it is
 *     reset
 * @param notProcessedTimes how many calls {@code pm_503} refuses
 * @param webhookRetrySchedule the pauses between the attempts of one event; its size bounds them
 * @param everyWebhookArrives what the profile would lose for good comes late
 * @param clock for timestamps, key life and query lag; delays run in real time
 */
public record SimulatorConfig(
    String host,
    int port,
    String apiKey,
    String webhookSecret,
    @Nullable URI webhookUrl,
    String stripeWebhookSecret,
    @Nullable URI stripeWebhookUrl,
    long seed,
    FaultProfile profile,
    Duration latency,
    Duration keyLife,
    Duration pendingSettleDelay,
    Duration slowDelay,
    Duration queryLag,
    Duration hangMax,
    int notProcessedTimes,
    List<Duration> webhookRetrySchedule,
    Duration webhookTimeout,
    Duration webhookLateDelay,
    int webhookConcurrency,
    boolean everyWebhookArrives,
    InstantSource clock) {

  public SimulatorConfig {
    webhookRetrySchedule = List.copyOf(webhookRetrySchedule);
    require(!host.isBlank(), "host is blank");
    require(port >= 0 && port <= 65_535, "port is out of range");
    require(!apiKey.isBlank(), "apiKey is blank");
    require(notProcessedTimes >= 0, "notProcessedTimes is negative");
    require(webhookConcurrency > 0, "webhookConcurrency has to be positive");
    require(!keyLife.isNegative() && !keyLife.isZero(), "keyLife has to be positive");
    for (Duration delay :
        List.of(latency, pendingSettleDelay, slowDelay, queryLag, hangMax, webhookLateDelay)) {
      require(!delay.isNegative(), "a delay is negative");
    }
    require(webhookTimeout.compareTo(Duration.ZERO) > 0, "webhookTimeout has to be positive");
    if (webhookUrl != null) {
      WebhookSender.requireHttp(webhookUrl);
    }
    if (stripeWebhookUrl != null) {
      WebhookSender.requireHttp(stripeWebhookUrl);
    }
    // Fails here rather than at the first event.
    WebhookSigner.withSecret(webhookSecret);
    require(stripeWebhookSecret.startsWith("whsec_"), "the Stripe webhook secret has no whsec_");
  }

  /** A builder with defaults for a demo on this machine, without faults. */
  public static Builder builder() {
    return new Builder();
  }

  /** Without the secrets. */
  @Override
  public String toString() {
    return "SimulatorConfig[host="
        + host
        + ", port="
        + port
        + ", seed="
        + seed
        + ", profile="
        + profile
        + ", latency="
        + latency
        + ", keyLife="
        + keyLife
        + "]";
  }

  private static void require(boolean condition, String message) {
    if (!condition) {
      throw new IllegalArgumentException(message);
    }
  }

  /** Collects the settings. Not thread-safe. */
  public static final class Builder {
    private String host = "127.0.0.1";
    private int port;
    private String apiKey = "sk_test_simulator";
    private String webhookSecret = "whsec_cGF5cmVsYXktc2ltdWxhdG9yLXNlY3JldA==";
    private @Nullable URI webhookUrl;
    private String stripeWebhookSecret = "whsec_simulated_stripe_secret_0123";
    private @Nullable URI stripeWebhookUrl;
    private long seed = 1;
    private FaultProfile profile = FaultProfile.NONE;
    private Duration latency = Duration.ZERO;
    private Duration keyLife = Duration.ofHours(24);
    private Duration pendingSettleDelay = Duration.ofSeconds(2);
    private Duration slowDelay = Duration.ofSeconds(2);
    private Duration queryLag = Duration.ZERO;
    private Duration hangMax = Duration.ofMinutes(2);
    private int notProcessedTimes = 2;
    private List<Duration> webhookRetrySchedule =
        List.of(
            Duration.ofMillis(200),
            Duration.ofSeconds(1),
            Duration.ofSeconds(2),
            Duration.ofSeconds(5),
            Duration.ofSeconds(10),
            Duration.ofSeconds(30));
    private Duration webhookTimeout = Duration.ofSeconds(5);
    private Duration webhookLateDelay = Duration.ofSeconds(5);
    private int webhookConcurrency = 32;
    private boolean everyWebhookArrives;
    private InstantSource clock = Clock.systemUTC();

    private Builder() {}

    public Builder host(String value) {
      host = value;
      return this;
    }

    public Builder port(int value) {
      port = value;
      return this;
    }

    public Builder apiKey(String value) {
      apiKey = value;
      return this;
    }

    public Builder webhookSecret(String value) {
      webhookSecret = value;
      return this;
    }

    public Builder webhookUrl(@Nullable URI value) {
      webhookUrl = value;
      return this;
    }

    public Builder stripeWebhookSecret(String value) {
      stripeWebhookSecret = value;
      return this;
    }

    public Builder stripeWebhookUrl(@Nullable URI value) {
      stripeWebhookUrl = value;
      return this;
    }

    public Builder seed(long value) {
      seed = value;
      return this;
    }

    public Builder profile(FaultProfile value) {
      profile = value;
      return this;
    }

    public Builder latency(Duration value) {
      latency = value;
      return this;
    }

    public Builder keyLife(Duration value) {
      keyLife = value;
      return this;
    }

    public Builder pendingSettleDelay(Duration value) {
      pendingSettleDelay = value;
      return this;
    }

    public Builder slowDelay(Duration value) {
      slowDelay = value;
      return this;
    }

    public Builder queryLag(Duration value) {
      queryLag = value;
      return this;
    }

    public Builder hangMax(Duration value) {
      hangMax = value;
      return this;
    }

    public Builder notProcessedTimes(int value) {
      notProcessedTimes = value;
      return this;
    }

    public Builder webhookRetrySchedule(List<Duration> value) {
      webhookRetrySchedule = value;
      return this;
    }

    public Builder webhookTimeout(Duration value) {
      webhookTimeout = value;
      return this;
    }

    public Builder webhookLateDelay(Duration value) {
      webhookLateDelay = value;
      return this;
    }

    public Builder webhookConcurrency(int value) {
      webhookConcurrency = value;
      return this;
    }

    public Builder clock(InstantSource value) {
      clock = value;
      return this;
    }

    public Builder everyWebhookArrives(boolean value) {
      everyWebhookArrives = value;
      return this;
    }

    /** Checks and makes the settings. */
    public SimulatorConfig build() {
      return new SimulatorConfig(
          host,
          port,
          apiKey,
          webhookSecret,
          webhookUrl,
          stripeWebhookSecret,
          stripeWebhookUrl,
          seed,
          profile,
          latency,
          keyLife,
          pendingSettleDelay,
          slowDelay,
          queryLag,
          hangMax,
          notProcessedTimes,
          webhookRetrySchedule,
          webhookTimeout,
          webhookLateDelay,
          webhookConcurrency,
          everyWebhookArrives,
          clock);
    }
  }
}
