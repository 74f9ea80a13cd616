package io.payrelay.relay;

import io.payrelay.platform.config.Setting;
import io.payrelay.platform.config.Settings;
import java.time.Duration;
import java.util.List;

/** How the outbox's partitions are kept. Immutable. */
public record UpkeepConfig(
    int daysAhead, int retentionDays, Duration lockTimeout, Duration interval) {

  public static final Setting<Integer> DAYS_AHEAD =
      Setting.integer(
          "PAYRELAY_OUTBOX_DAYS_AHEAD",
          "7",
          1,
          366,
          "for how many days to come the outbox has partitions");
  public static final Setting<Integer> RETENTION_DAYS =
      Setting.integer(
          "PAYRELAY_OUTBOX_RETENTION_DAYS",
          "14",
          2,
          3650,
          "how long outbox rows are kept: recovery and sending again reach back no further");
  public static final Setting<Duration> LOCK_TIMEOUT =
      Setting.millis(
          "PAYRELAY_OUTBOX_LOCK_TIMEOUT_MS",
          "200",
          10,
          10_000,
          "how long the upkeep waits for a lock, and INSERTs behind it, before it gives up for now");
  public static final Setting<Duration> INTERVAL =
      Setting.millis(
          "PAYRELAY_OUTBOX_UPKEEP_INTERVAL_MS",
          "600000",
          100,
          21_600_000,
          "how often the relay looks after the outbox's partitions");

  /** All of them. */
  public static final List<Setting<?>> SETTINGS =
      List.of(DAYS_AHEAD, RETENTION_DAYS, LOCK_TIMEOUT, INTERVAL);

  /** Reads the checked settings. */
  public static UpkeepConfig from(Settings settings) {
    return new UpkeepConfig(
        settings.read(DAYS_AHEAD),
        settings.read(RETENTION_DAYS),
        settings.read(LOCK_TIMEOUT),
        settings.read(INTERVAL));
  }
}
