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
  void engineThatDeliversFromTheStreamLives() {
    for (int s = 0; s < 100; s++) {
      int second = s;
      assertThatCode(() -> check(17, second, false, second)).doesNotThrowAnyException();
    }
  }

  @Test
  void engineWhoseWalsenderDecodesALargeTransactionLives() {
    for (int s = 0; s < 100; s++) {
      int second = s;
      assertThatCode(() -> check(0, 5, true, second)).doesNotThrowAnyException();
    }
  }

  @Test
  void engineThatDeliversNothingIsDead() {
    assertThatThrownBy(() -> check(19, 1, false, 0))
        .hasMessage("The engine has delivered nothing for 18 s");
  }

  @Test
  void engineThatOnlyMakesHeartbeatsOfItsOwnIsDead() {
    check(0, 5, false, 1);
    check(0, 5, false, 15);

    assertThatThrownBy(() -> check(0, 5, false, 17))
        .hasMessage(
            "PostgreSQL's stream has brought nothing, not even a heartbeat's message, for 15 s");
  }

  @Test
  void engineWithoutAWalsenderIsDead() {
    check(0, 5, false, 1);

    assertThatThrownBy(() -> check(0, 5, null, 17))
        .hasMessage("No walsender has worked on the slot for 15 s");
  }

  @Test
  void engineHasLongerToConnect() {
    check(0, 0, null, 1);
    check(0, 0, null, 60);

    assertThatThrownBy(() -> check(0, 0, null, 62))
        .hasMessage("No walsender has worked on the slot for 60 s");
  }

  private void check(int batchSilenceS, long streamed, Boolean walsenderBusy, int second) {
    watch.check(
        Duration.ofSeconds(batchSilenceS),
        streamed,
        walsenderBusy,
        startNs + TimeUnit.SECONDS.toNanos(second));
  }
}
