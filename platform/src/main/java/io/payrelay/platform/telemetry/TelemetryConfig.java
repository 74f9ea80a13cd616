package io.payrelay.platform.telemetry;

import io.payrelay.platform.config.Setting;
import io.payrelay.platform.config.Settings;
import java.util.List;

/** Where metrics and health are served. Immutable. */
public record TelemetryConfig(String host, int port) {

  public static final Setting<String> HOST =
      Setting.text(
          "PAYRELAY_METRICS_HOST", "127.0.0.1", "address on which metrics and health are served");
  public static final Setting<Integer> PORT =
      Setting.integer(
          "PAYRELAY_METRICS_PORT", "0", 0, 65_535, "port for /metrics and /health; 0: a free one");

  /** All of them. */
  public static final List<Setting<?>> SETTINGS = List.of(HOST, PORT);

  /** Reads the checked settings. */
  public static TelemetryConfig from(Settings settings) {
    return new TelemetryConfig(settings.read(HOST), settings.read(PORT));
  }
}
