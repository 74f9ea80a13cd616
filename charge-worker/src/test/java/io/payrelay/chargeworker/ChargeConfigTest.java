package io.payrelay.chargeworker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.payrelay.platform.config.Settings;
import io.payrelay.platform.errors.PayrelayException;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ChargeConfigTest {

  private static ChargeConfig from(Map<String, String> environment) {
    return ChargeConfig.from(
        Settings.check(environment, ChargeConfig.SETTINGS, ChargeConfig.SETTINGS));
  }

  @Test
  void hasDefaultsThatFitTogether() {
    ChargeConfig config = from(Map.of());

    assertThat(config.groupId()).isEqualTo("payrelay-charge-worker");
    assertThat(config.queryDelays())
        .startsWith(Duration.ofSeconds(1))
        .endsWith(Duration.ofMinutes(5));
    assertThat(config.pendingExpiry()).isZero();
  }

  @Test
  void refusesALeaseInWhichNoAnswerCanCome() {
    assertThatThrownBy(() -> from(Map.of("PAYRELAY_CHARGE_LEASE_MS", "59999")))
        .isInstanceOf(PayrelayException.class)
        .hasMessageContaining("PAYRELAY_CHARGE_CALL_TIMEOUT_MS");
  }

  @Test
  void namesAWrongDelay() {
    assertThatThrownBy(() -> from(Map.of("PAYRELAY_CHARGE_QUERY_DELAYS_MS", "100,0")))
        .hasMessageContaining("PAYRELAY_CHARGE_QUERY_DELAYS_MS is \"100,0\"");
  }
}
