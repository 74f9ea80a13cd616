package io.payrelay.platform.database;

import io.payrelay.platform.config.Secret;
import io.payrelay.platform.config.Setting;
import io.payrelay.platform.config.Settings;
import java.time.Duration;
import java.util.List;

/** Where the database is and how many connections a process may hold. Immutable. */
public record DatabaseConfig(
    String url, String user, Secret password, int poolSizeMax, Duration connectTimeout) {

  public static final Setting<String> URL =
      new Setting<>(
          "PAYRELAY_DATABASE_URL",
          "jdbc:postgresql://HOST:PORT/DATABASE",
          null,
          "JDBC address of PostgreSQL 15 or newer",
          DatabaseConfig::checkUrl,
          false);
  public static final Setting<String> USER =
      Setting.text("PAYRELAY_DATABASE_USER", null, "user of the database");
  public static final Setting<Secret> PASSWORD =
      Setting.secret(
          "PAYRELAY_DATABASE_PASSWORD", "", "password of that user; empty: none is sent");
  public static final Setting<Integer> POOL_SIZE_MAX =
      Setting.integer(
          "PAYRELAY_DATABASE_POOL_SIZE_MAX", "8", 1, 200, "connections a process may hold");
  public static final Setting<Duration> CONNECT_TIMEOUT =
      Setting.millis(
          "PAYRELAY_DATABASE_CONNECT_TIMEOUT_MS",
          "5000",
          250,
          600_000,
          "how long to wait for a connection");

  /** All of them. */
  public static final List<Setting<?>> SETTINGS =
      List.of(URL, USER, PASSWORD, POOL_SIZE_MAX, CONNECT_TIMEOUT);

  /** Reads the checked settings. */
  public static DatabaseConfig from(Settings settings) {
    return new DatabaseConfig(
        settings.read(URL),
        settings.read(USER),
        settings.read(PASSWORD),
        settings.read(POOL_SIZE_MAX),
        settings.read(CONNECT_TIMEOUT));
  }

  /** Without any password, one in the address included. */
  @Override
  public String toString() {
    return "DatabaseConfig[" + Settings.masked(url) + " " + user + "]";
  }

  private static String checkUrl(String text) {
    if (!text.startsWith("jdbc:postgresql://")) {
      throw new IllegalArgumentException("not a PostgreSQL address");
    }
    return text;
  }
}
