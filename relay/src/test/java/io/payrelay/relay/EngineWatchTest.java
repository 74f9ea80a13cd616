package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.payrelay.platform.config.Settings;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class EngineWatchTest {

  private static final RelayConfig CONFIG =
      RelayConfig.from(
          Settings.check(
              Map.of(
                  "PAYRELAY_RELAY_HEARTBEAT_INTERVAL_MS", "300",
                  "PAYRELAY_RELAY_TRANSACTION_TIMEOUT_MS", "5000"),
              RelayConfig.SETTINGS,
              RelayConfig.SETTINGS));

  private final EngineWatch watch = new EngineWatch(CONFIG);
  private final long startNs = System.nanoTime();

  @Test
  void engineThatDeliversAndIsHeardLives() {
    for (int s = 0; s < 100; s++) {
      int now = s;
      assertThatCode(() -> check(Duration.ofSeconds(17), "7 " + now, now))
          .doesNotThrowAnyException();
    }
  }

  @Test
  void engineThatDeliversNothingIsDead() {
    assertThatThrownBy(() -> check(Duration.ofSeconds(19), "7 a", 0))
        .hasMessage("The engine has delivered nothing for 18 s");
  }

  @Test
  void engineThatPostgresHearsNothingFromIsDead() {
    check(Duration.ZERO, "7 a", 1);
    check(Duration.ZERO, "7 a", 15);

    assertThatThrownBy(() -> check(Duration.ZERO, "7 a", 17))
        .hasMessage("PostgreSQL has heard nothing from the engine for 15 s");
  }

  @Test
  void engineWithoutAWalsenderIsDead() {
    check(Duration.ZERO, "7 a", 1);

    assertThatThrownBy(() -> check(Duration.ZERO, null, 17))
        .hasMessage("No walsender has worked on the slot for 15 s");
  }

  @Test
  void engineHasLongerToConnect() {
    check(Duration.ZERO, null, 1);
    check(Duration.ZERO, null, 60);

    assertThatThrownBy(() -> check(Duration.ZERO, null, 62))
        .hasMessage("No walsender has worked on the slot for 60 s");
  }

  private void check(Duration batchSilence, String heard, int second) {
    watch.check(batchSilence, heard, startNs + TimeUnit.SECONDS.toNanos(second));
  }
}
