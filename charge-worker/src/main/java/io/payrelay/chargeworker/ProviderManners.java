package io.payrelay.chargeworker;

import io.payrelay.platform.config.Setting;
import io.payrelay.platform.config.Settings;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/**
 * How one provider is treated: when it is asked, how much at once, and when it is left alone.
 * Immutable.
 *
 * @param queryDelays between questions; after the last they double up to the cap
 * @param resolveHorizon how long after the first attempt a charge is worked on; then a person's
 * @param pendingExpiry a charge that is pending for longer is cancelled; zero: never
 * @param inFlightMax calls in flight to it, in this process
 * @param ratePerSecond calls and queries, in this process; 0: as many as come
 */
public record ProviderManners(
    List<Duration> queryDelays,
    Duration queryDelayCap,
    Duration resolveHorizon,
    Duration pendingExpiry,
    int inFlightMax,
    int ratePerSecond,
    int breakerFailurePercent,
    int breakerCallsMin,
    Duration breakerWait) {

  static final String GENERAL = "PAYRELAY_CHARGE";
  private static final long DAY_MS = 86_400_000L;

  static final Setting<List<Duration>> QUERY_DELAYS =
      new Setting<>(
          "PAYRELAY_CHARGE_QUERY_DELAYS_MS",
          "milliseconds, comma-separated",
          "1000,3000,10000,30000,60000,300000",
          "delays before the first questions about an unresolved charge; then they double",
          ProviderManners::delays,
          false);
  static final Setting<Duration> QUERY_DELAY_CAP =
      millis("QUERY_DELAY_CAP_MS", "3600000", 1, DAY_MS, "longest delay between two questions");
  static final Setting<Duration> RESOLVE_HORIZON =
      millis(
          "RESOLVE_HORIZON_MS",
          "259200000",
          100,
          365 * DAY_MS,
          "how long a charge is worked on before a person has to look");
  static final Setting<Duration> PENDING_EXPIRY =
      millis(
          "PENDING_EXPIRY_MS",
          "0",
          0,
          365 * DAY_MS,
          "age at which a pending charge is cancelled; 0: never");
  static final Setting<Integer> IN_FLIGHT_MAX =
      Setting.integer(
          "PAYRELAY_CHARGE_IN_FLIGHT_MAX",
          "256",
          1,
          10_000,
          "calls in flight to one provider, in this process");
  static final Setting<Integer> RATE_PER_SECOND =
      Setting.integer(
          "PAYRELAY_CHARGE_RATE_PER_SECOND",
          "0",
          0,
          100_000,
          "calls and queries a second of one provider, in this process; 0: no limit");
  static final Setting<Integer> BREAKER_FAILURE_PERCENT =
      Setting.integer(
          "PAYRELAY_CHARGE_BREAKER_FAILURE_PERCENT",
          "80",
          1,
          100,
          "share of calls without a usable answer at which a provider is left alone");
  static final Setting<Integer> BREAKER_CALLS_MIN =
      Setting.integer(
          "PAYRELAY_CHARGE_BREAKER_CALLS_MIN",
          "20",
          1,
          10_000,
          "calls over which that share is taken");
  static final Setting<Duration> BREAKER_WAIT =
      millis("BREAKER_WAIT_MS", "5000", 10, 600_000, "how long a provider is then left alone");

  /** For all providers. */
  static final List<Setting<?>> SETTINGS =
      List.of(
          QUERY_DELAYS,
          QUERY_DELAY_CAP,
          RESOLVE_HORIZON,
          PENDING_EXPIRY,
          IN_FLIGHT_MAX,
          RATE_PER_SECOND,
          BREAKER_FAILURE_PERCENT,
          BREAKER_CALLS_MIN,
          BREAKER_WAIT);

  /** Copies the list. */
  public ProviderManners {
    queryDelays = List.copyOf(queryDelays);
  }

  /**
   * The same settings for one provider; where they are empty, those for all count.
   *
   * @param prefix what the provider's own settings begin with, as {@code PAYRELAY_STRIPE}
   */
  public static List<Setting<?>> settingsOf(String prefix) {
    return SETTINGS.stream().<Setting<?>>map(setting -> own(prefix, setting)).toList();
  }

  /** Those for all providers. */
  static ProviderManners from(Settings settings) {
    return new ProviderManners(
        settings.read(QUERY_DELAYS),
        settings.read(QUERY_DELAY_CAP),
        settings.read(RESOLVE_HORIZON),
        settings.read(PENDING_EXPIRY),
        settings.read(IN_FLIGHT_MAX),
        settings.read(RATE_PER_SECOND),
        settings.read(BREAKER_FAILURE_PERCENT),
        settings.read(BREAKER_CALLS_MIN),
        settings.read(BREAKER_WAIT));
  }

  /** Those of the provider with that prefix. */
  static ProviderManners from(Settings settings, String prefix) {
    return new ProviderManners(
        read(settings, prefix, QUERY_DELAYS),
        read(settings, prefix, QUERY_DELAY_CAP),
        read(settings, prefix, RESOLVE_HORIZON),
        read(settings, prefix, PENDING_EXPIRY),
        read(settings, prefix, IN_FLIGHT_MAX),
        read(settings, prefix, RATE_PER_SECOND),
        read(settings, prefix, BREAKER_FAILURE_PERCENT),
        read(settings, prefix, BREAKER_CALLS_MIN),
        read(settings, prefix, BREAKER_WAIT));
  }

  /**
   * The horizon is looked at first: what is pending would be a person's before it is cancelled.
   *
   * @param prefix of the settings that are named
   * @throws PayrelayException FATAL where the expiry never comes
   */
  void refuseWhereNothingExpires(String prefix) {
    if (pendingExpiry.compareTo(resolveHorizon) >= 0) {
      throw new PayrelayException(
          Category.FATAL,
          "%s_PENDING_EXPIRY_MS (%d) must be less than %s_RESOLVE_HORIZON_MS (%d): after that a charge is left to a person and is not cancelled any more; a value that is not set is that of %s_..."
              .formatted(
                  prefix, pendingExpiry.toMillis(), prefix, resolveHorizon.toMillis(), GENERAL));
    }
  }

  private static <T> T read(Settings settings, String prefix, Setting<T> general) {
    return settings.read(own(prefix, general)).orElseGet(() -> settings.read(general));
  }

  private static <T> Setting<Optional<T>> own(String prefix, Setting<T> general) {
    return new Setting<>(
        prefix + general.name().substring(GENERAL.length()),
        general.form(),
        "",
        "of this provider; empty: `" + general.name() + "`",
        text -> text.isEmpty() ? Optional.empty() : Optional.of(general.parser().apply(text)),
        false);
  }

  private static Setting<Duration> millis(
      String name, String defaultText, long minMs, long maxMs, String description) {
    return Setting.millis(GENERAL + "_" + name, defaultText, minMs, maxMs, description);
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
