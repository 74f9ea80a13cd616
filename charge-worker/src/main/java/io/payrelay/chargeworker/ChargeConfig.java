package io.payrelay.chargeworker;

import io.payrelay.platform.config.Setting;
import io.payrelay.platform.config.Settings;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;

/**
 * How the charge worker works. Immutable.
 *
 * @param instance who this process is, for people; empty: a name is made up
 * @param lease how long a claimed operation is ours; at least twice the call timeout
 * @param queryDelays between questions; after the last they double up to the cap
 * @param ratePerSecond calls and queries of one provider; 0: as many as come
 * @param pendingExpiry a charge that is pending for longer is cancelled; zero: never
 */
public record ChargeConfig(
    String groupId,
    String instance,
    Duration lease,
    Duration callTimeout,
    int inFlightMax,
    int dispatchBatchMax,
    Duration pollInterval,
    List<Duration> queryDelays,
    Duration queryDelayCap,
    Duration retryFirst,
    Duration retryCap,
    Duration resolveHorizon,
    Duration notVisibleLimit,
    Duration sweepAge,
    Duration sweepInterval,
    int ratePerSecond,
    int breakerFailurePercent,
    int breakerCallsMin,
    Duration breakerWait,
    Duration pendingExpiry,
    Duration stopLimit) {

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
  public static final Setting<Integer> IN_FLIGHT_MAX =
      Setting.integer(
          "PAYRELAY_CHARGE_IN_FLIGHT_MAX", "256", 1, 10_000, "calls in flight in this process");
  public static final Setting<Integer> DISPATCH_BATCH_MAX =
      Setting.integer(
          "PAYRELAY_CHARGE_DISPATCH_BATCH_MAX", "128", 1, 10_000, "charges claimed at once");
  public static final Setting<Duration> POLL_INTERVAL =
      millis("POLL_INTERVAL_MS", "200", 5, 60_000, "how often to look for due charges");
  public static final Setting<List<Duration>> QUERY_DELAYS =
      new Setting<>(
          "PAYRELAY_CHARGE_QUERY_DELAYS_MS",
          "milliseconds, comma-separated",
          "1000,3000,10000,30000,60000,300000",
          "delays before the first questions about an unresolved charge; then they double",
          ChargeConfig::delays,
          false);
  public static final Setting<Duration> QUERY_DELAY_CAP =
      millis("QUERY_DELAY_CAP_MS", "3600000", 1, DAY_MS, "longest delay between two questions");
  public static final Setting<Duration> RETRY_FIRST =
      millis("RETRY_FIRST_MS", "500", 1, 60_000, "delay after a call that was not processed");
  public static final Setting<Duration> RETRY_CAP =
      millis("RETRY_CAP_MS", "60000", 1, DAY_MS, "longest delay after calls not processed");
  public static final Setting<Duration> RESOLVE_HORIZON =
      millis(
          "RESOLVE_HORIZON_MS",
          "259200000",
          100,
          365 * DAY_MS,
          "how long a charge is worked on before a person has to look");
  public static final Setting<Duration> NOT_VISIBLE_LIMIT =
      millis(
          "NOT_VISIBLE_LIMIT_MS", "60000", 0, 600_000, "how long an event may precede its payment");
  public static final Setting<Duration> SWEEP_AGE =
      millis("SWEEP_AGE_MS", "120000", 0, DAY_MS, "age of a payment whose event is missed");
  public static final Setting<Duration> SWEEP_INTERVAL =
      millis("SWEEP_INTERVAL_MS", "10000", 10, DAY_MS, "how often to look for missed events");
  public static final Setting<Integer> RATE_PER_SECOND =
      Setting.integer(
          "PAYRELAY_CHARGE_RATE_PER_SECOND",
          "0",
          0,
          100_000,
          "calls and queries a second of one provider; 0: no limit");
  public static final Setting<Integer> BREAKER_FAILURE_PERCENT =
      Setting.integer(
          "PAYRELAY_CHARGE_BREAKER_FAILURE_PERCENT",
          "80",
          1,
          100,
          "share of calls without a usable answer at which a provider is left alone");
  public static final Setting<Integer> BREAKER_CALLS_MIN =
      Setting.integer(
          "PAYRELAY_CHARGE_BREAKER_CALLS_MIN",
          "20",
          1,
          10_000,
          "calls over which that share is taken");
  public static final Setting<Duration> BREAKER_WAIT =
      millis("BREAKER_WAIT_MS", "5000", 10, 600_000, "how long a provider is then left alone");
  public static final Setting<Duration> PENDING_EXPIRY =
      millis(
          "PENDING_EXPIRY_MS", "0", 0, 365 * DAY_MS, "age at which a pending charge is cancelled");
  public static final Setting<Duration> STOP_LIMIT =
      millis("STOP_LIMIT_MS", "35000", 0, 600_000, "how long a stop waits for calls in flight");

  /** All of them. */
  public static final List<Setting<?>> SETTINGS =
      List.of(
          GROUP_ID,
          INSTANCE,
          LEASE,
          CALL_TIMEOUT,
          IN_FLIGHT_MAX,
          DISPATCH_BATCH_MAX,
          POLL_INTERVAL,
          QUERY_DELAYS,
          QUERY_DELAY_CAP,
          RETRY_FIRST,
          RETRY_CAP,
          RESOLVE_HORIZON,
          NOT_VISIBLE_LIMIT,
          SWEEP_AGE,
          SWEEP_INTERVAL,
          RATE_PER_SECOND,
          BREAKER_FAILURE_PERCENT,
          BREAKER_CALLS_MIN,
          BREAKER_WAIT,
          PENDING_EXPIRY,
          STOP_LIMIT);

  /** Copies the list. */
  public ChargeConfig {
    queryDelays = List.copyOf(queryDelays);
  }

  /**
   * Reads the checked settings.
   *
   * @throws PayrelayException FATAL where two of them do not fit together
   */
  public static ChargeConfig from(Settings settings) {
    Duration lease = settings.read(LEASE);
    Duration callTimeout = settings.read(CALL_TIMEOUT);
    if (lease.compareTo(callTimeout.multipliedBy(2)) < 0) {
      throw new PayrelayException(
          Category.FATAL,
          "%s (%d) must be at least twice %s (%d): an answer has to come while the charge is ours"
              .formatted(
                  LEASE.name(), lease.toMillis(), CALL_TIMEOUT.name(), callTimeout.toMillis()));
    }
    return new ChargeConfig(
        settings.read(GROUP_ID),
        settings.read(INSTANCE),
        lease,
        callTimeout,
        settings.read(IN_FLIGHT_MAX),
        settings.read(DISPATCH_BATCH_MAX),
        settings.read(POLL_INTERVAL),
        settings.read(QUERY_DELAYS),
        settings.read(QUERY_DELAY_CAP),
        settings.read(RETRY_FIRST),
        settings.read(RETRY_CAP),
        settings.read(RESOLVE_HORIZON),
        settings.read(NOT_VISIBLE_LIMIT),
        settings.read(SWEEP_AGE),
        settings.read(SWEEP_INTERVAL),
        settings.read(RATE_PER_SECOND),
        settings.read(BREAKER_FAILURE_PERCENT),
        settings.read(BREAKER_CALLS_MIN),
        settings.read(BREAKER_WAIT),
        settings.read(PENDING_EXPIRY),
        settings.read(STOP_LIMIT));
  }

  private static Setting<Duration> millis(
      String name, String defaultText, long minMs, long maxMs, String description) {
    return Setting.millis("PAYRELAY_CHARGE_" + name, defaultText, minMs, maxMs, description);
  }

  private static List<Duration> delays(String text) {
    List<Duration> delays =
        Arrays.stream(text.split(",", -1))
            .map(item -> Duration.ofMillis(Long.parseLong(item.strip())))
            .toList();
    if (delays.stream().anyMatch(delay -> delay.isNegative() || delay.isZero())) {
      throw new IllegalArgumentException("a delay is not positive");
    }
    return delays;
  }
}
