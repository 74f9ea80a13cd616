package io.payrelay.platform.database;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.payrelay.platform.config.Settings;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class DatabaseConfigTest {

  private static DatabaseConfig read(String url) {
    return DatabaseConfig.from(
        Settings.check(
            Map.of(
                "PAYRELAY_DATABASE_URL", url,
                "PAYRELAY_DATABASE_USER", "me",
                "PAYRELAY_DATABASE_PASSWORD", "canary",
                "PAYRELAY_DATABASE_CONNECT_TIMEOUT_MS", "250"),
            DatabaseConfig.SETTINGS,
            DatabaseConfig.SETTINGS));
  }

  @Test
  void printsNoPassword() {
    assertThat(read("jdbc:postgresql://h/db?password=canary"))
        .asString()
        .doesNotContain("canary")
        .contains("jdbc:postgresql://h/db");
  }

  @Test
  void refusesAnotherDatabase() {
    assertThatThrownBy(() -> read("jdbc:mysql://h/db"))
        .hasMessageContaining("PAYRELAY_DATABASE_URL");
  }

  @Test
  @Timeout(30)
  void callsItRetriableWhenNobodyAnswers() {
    DatabaseConfig config = read("jdbc:postgresql://127.0.0.1:1/db");

    assertThatThrownBy(() -> Database.open(config, "test"))
        .isInstanceOfSatisfying(
            PayrelayException.class, e -> assertThat(e.category()).isEqualTo(Category.RETRIABLE));
  }
}
