package io.payrelay.chargeworker;

import io.payrelay.platform.config.Setting;
import io.payrelay.platform.config.Settings;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * How the charge worker works. Immutable.
 *
 * @param instance who this process is, for people; empty: a name is made up
 * @param lease how long a claimed operation is ours; at least twice the call timeout
 * @param bodyRetention how long bodies are kept after the payment's end; zero: for good
 * @param keyNearExpiry a key that is safe for less than this is counted by a metric
 * @param general how providers are treated that have no manners of their own
 * @param manners how the others are, by their name
 */
public record ChargeConfig(
    String groupId,
    String instance,
    Duration lease,
    Duration callTimeout,
    int dispatchBatchMax,
    Duration pollInterval,
    Duration retryFirst,
    Duration retryCap,
    Duration notVisibleLimit,
    Duration sweepAge,
    Duration sweepInterval,
    Duration bodyRetention,
    Duration keyNearExpiry,
    Duration stopLimit,
    ProviderManners general,
    Map<String, ProviderManners> manners) {

  private static final long DAY_MS = 86_400_000L;

  public static final Setting<String> GROUP_ID =
      Setting.text(
          "PAYRELAY_CHARGE_GROUP_ID", "payrelay-charge-worker", "consumer group of the workers");
  public static final Setting<String> INSTANCE =
      Setting.text(
          "PAYRELAY_CHARGE_INSTANCE", "", "name of this process in leases; empty: made up");
  public static final Setting<Duration> LEASE =
      millis("LEASE_MS", "90000", 200, DAY_MS, "how long a claimed charge belongs to one worker");
  public static final Setting<Duration> CALL_TIMEOUT =
      millis("CALL_TIMEOUT_MS", "30000", 50, 600_000, "how long to wait for a provider's answer");
  public static final Setting<Integer> DISPATCH_BATCH_MAX =
      Setting.integer(
          "PAYRELAY_CHARGE_DISPATCH_BATCH_MAX", "128", 1, 10_000, "charges claimed at once");
  public static final Setting<Duration> POLL_INTERVAL =
      millis("POLL_INTERVAL_MS", "200", 5, 60_000, "how often to look for due charges");
  public static final Setting<Duration> RETRY_FIRST =
      millis("RETRY_FIRST_MS", "500", 1, 60_000, "delay after a call that was not processed");
  public static final Setting<Duration> RETRY_CAP =
      millis("RETRY_CAP_MS", "60000", 1, DAY_MS, "longest delay after calls not processed");
  public static final Setting<Duration> NOT_VISIBLE_LIMIT =
      millis(
          "NOT_VISIBLE_LIMIT_MS", "60000", 0, 600_000, "how long an event may precede its payment");
  public static final Setting<Duration> SWEEP_AGE =
      millis("SWEEP_AGE_MS", "120000", 0, DAY_MS, "age of a payment whose event is missed");
  public static final Setting<Duration> SWEEP_INTERVAL =
      millis("SWEEP_INTERVAL_MS", "10000", 10, DAY_MS, "how often to look for missed events");
  public static final Setting<Integer> BODY_RETENTION_DAYS =
      Setting.integer(
          "PAYRELAY_CHARGE_BODY_RETENTION_DAYS",
          "90",
          0,
          36_500,
          "days after a payment's end at which what was sent and answered is removed; the digest"
              + " stays; 0: never");
  public static final Setting<Duration> KEY_NEAR_EXPIRY =
      millis(
          "KEY_NEAR_EXPIRY_MS",
          "1800000",
          1_000,
          30 * DAY_MS,
          "unresolved charges whose key is safe for less than this are counted by a metric");
  public static final Setting<Duration> STOP_LIMIT =
      millis("STOP_LIMIT_MS", "35000", 0, 600_000, "how long a stop waits for calls in flight");

  /** All of them, those for all providers included. */
  public static final List<Setting<?>> SETTINGS = settings();

  /** Copies the map. */
  public ChargeConfig {
    manners = Map.copyOf(manners);
  }

  /** How the provider of that name is treated. */
  ProviderManners manners(String provider) {
    return manners.getOrDefault(provider, general);
  }

  /** Reads the checked settings, without any that are a provider's own. */
  public static ChargeConfig from(Settings settings) {
    return from(settings, Map.of());
  }

  /**
   * Reads the checked settings.
   *
   * @param prefixes what each provider's own settings begin with, by the provider's name: see
   *     {@link ProviderManners#settingsOf}
   * @throws PayrelayException FATAL where two of them do not fit together
   */
  public static ChargeConfig from(Settings settings, Map<String, String> prefixes) {
    Duration lease = settings.read(LEASE);
    Duration callTimeout = settings.read(CALL_TIMEOUT);
    if (lease.compareTo(callTimeout.multipliedBy(2)) < 0) {
      throw new PayrelayException(
          Category.FATAL,
          "%s (%d) must be at least twice %s (%d): an answer has to come while the charge is ours"
              .formatted(
                  LEASE.name(), lease.toMillis(), CALL_TIMEOUT.name(), callTimeout.toMillis()));
    }
    ProviderManners general = ProviderManners.from(settings);
    general.refuseWhereNothingExpires(ProviderManners.GENERAL);
    Map<String, ProviderManners> manners = new HashMap<>();
    prefixes.forEach(
        (provider, prefix) -> {
          ProviderManners own = ProviderManners.from(settings, prefix);
          own.refuseWhereNothingExpires(prefix);
          manners.put(provider, own);
        });
    return new ChargeConfig(
        settings.read(GROUP_ID),
        settings.read(INSTANCE),
        lease,
        callTimeout,
        settings.read(DISPATCH_BATCH_MAX),
        settings.read(POLL_INTERVAL),
        settings.read(RETRY_FIRST),
        settings.read(RETRY_CAP),
        settings.read(NOT_VISIBLE_LIMIT),
        settings.read(SWEEP_AGE),
        settings.read(SWEEP_INTERVAL),
        Duration.ofDays(settings.read(BODY_RETENTION_DAYS)),
        settings.read(KEY_NEAR_EXPIRY),
        settings.read(STOP_LIMIT),
        general,
        manners);
  }

  private static List<Setting<?>> settings() {
    List<Setting<?>> all =
        new ArrayList<>(
            List.of(
                GROUP_ID,
                INSTANCE,
                LEASE,
                CALL_TIMEOUT,
                DISPATCH_BATCH_MAX,
                POLL_INTERVAL,
                RETRY_FIRST,
                RETRY_CAP,
                NOT_VISIBLE_LIMIT,
                SWEEP_AGE,
                SWEEP_INTERVAL,
                BODY_RETENTION_DAYS,
                KEY_NEAR_EXPIRY,
                STOP_LIMIT));
    all.addAll(ProviderManners.SETTINGS);
    return List.copyOf(all);
  }

  private static Setting<Duration> millis(
      String name, String defaultText, long minMs, long maxMs, String description) {
    return Setting.millis("PAYRELAY_CHARGE_" + name, defaultText, minMs, maxMs, description);
  }
}
