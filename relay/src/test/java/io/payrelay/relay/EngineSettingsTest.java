package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.payrelay.platform.config.Secret;
import io.payrelay.platform.config.Settings;
import io.payrelay.platform.database.DatabaseConfig;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.api.Test;

class EngineSettingsTest {

  @Test
  void addressBecomesDebeziumsOwnSettings() {
    Properties properties =
        of("jdbc:postgresql://db.example:6432/pay%20relay?sslmode=verify-full&options=-c%20x%3D1");

    assertThat(properties)
        .containsEntry("database.hostname", "db.example")
        .containsEntry("database.port", "6432")
        .containsEntry("database.dbname", "pay relay")
        .containsEntry("database.user", "user")
        .containsEntry("database.password", "secret")
        .containsEntry("database.sslmode", "verify-full")
        .containsEntry("driver.options", "-c x=1");
  }

  @Test
  void neverRestartsInsideTheEngineAndNeverTakesASnapshot() {
    assertThat(of("jdbc:postgresql://db/payrelay"))
        .containsEntry("database.port", "5432")
        .containsEntry("errors.max.retries", "0")
        .containsEntry("snapshot.mode", "no_data")
        .containsEntry("publication.autocreate.mode", "disabled")
        .containsEntry("offset.storage", SeededOffsetStore.class.getName());
  }

  @Test
  void severalHostsAreRefused() {
    assertThatThrownBy(() -> of("jdbc:postgresql://a:1,b:2/payrelay"))
        .hasMessageContaining("one host");
  }

  private static Properties of(String url) {
    RelayConfig config =
        RelayConfig.from(Settings.check(Map.of(), RelayConfig.SETTINGS, RelayConfig.SETTINGS));
    return EngineSettings.of(
        new DatabaseConfig(url, "user", new Secret("secret"), 2, Duration.ofSeconds(5)),
        config,
        "seed");
  }
}
