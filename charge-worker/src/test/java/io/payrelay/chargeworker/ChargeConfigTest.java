package io.payrelay.chargeworker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.payrelay.platform.config.Setting;
import io.payrelay.platform.config.Settings;
import io.payrelay.platform.errors.PayrelayException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
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
    assertThat(config.general().queryDelays())
        .startsWith(Duration.ofSeconds(1))
        .endsWith(Duration.ofMinutes(5));
    assertThat(config.general().pendingExpiry()).isZero();
  }

  @Test
  void treatsEachProviderAsItsOwnSettingsSay() {
    List<Setting<?>> known = new ArrayList<>(ChargeConfig.SETTINGS);
    known.addAll(ProviderManners.settingsOf("PAYRELAY_STRIPE"));
    ChargeConfig config =
        ChargeConfig.from(
            Settings.check(
                Map.of(
                    "PAYRELAY_CHARGE_QUERY_DELAYS_MS", "5000",
                    "PAYRELAY_CHARGE_BREAKER_WAIT_MS", "700",
                    "PAYRELAY_STRIPE_QUERY_DELAYS_MS", "2000,9000",
                    "PAYRELAY_STRIPE_RATE_PER_SECOND", "25",
                    "PAYRELAY_STRIPE_PENDING_EXPIRY_MS", "3600000"),
                known,
                known),
            Map.of("stripe", "PAYRELAY_STRIPE"));

    ProviderManners stripe = config.manners("stripe");
    assertThat(stripe.queryDelays()).containsExactly(Duration.ofSeconds(2), Duration.ofSeconds(9));
    assertThat(stripe.ratePerSecond()).isEqualTo(25);
    assertThat(stripe.pendingExpiry()).isEqualTo(Duration.ofHours(1));
    assertThat(stripe.breakerWait()).isEqualTo(Duration.ofMillis(700));
    ProviderManners other = config.manners("other");
    assertThat(other.queryDelays()).containsExactly(Duration.ofSeconds(5));
    assertThat(other.ratePerSecond()).isZero();
  }

  @Test
  void namesAWrongValueOfOneProvider() {
    List<Setting<?>> known = ProviderManners.settingsOf("PAYRELAY_STRIPE");
    assertThatThrownBy(
            () -> Settings.check(Map.of("PAYRELAY_STRIPE_IN_FLIGHT_MAX", "0"), known, known))
        .hasMessageContaining("PAYRELAY_STRIPE_IN_FLIGHT_MAX is \"0\"");
  }

  @Test
  void keepsBodiesForAsLongAsItIsTold() {
    assertThat(from(Map.of()).bodyRetention()).isEqualTo(Duration.ofDays(90));
    assertThat(from(Map.of("PAYRELAY_CHARGE_BODY_RETENTION_DAYS", "0")).bodyRetention()).isZero();
  }

  @Test
  void refusesALeaseInWhichNoAnswerCanCome() {
    assertThatThrownBy(() -> from(Map.of("PAYRELAY_CHARGE_LEASE_MS", "59999")))
        .isInstanceOf(PayrelayException.class)
        .hasMessageContaining("PAYRELAY_CHARGE_CALL_TIMEOUT_MS");
  }

  @Test
  void refusesAnExpiryThatNeverComes() {
    assertThatThrownBy(
            () ->
                from(
                    Map.of(
                        "PAYRELAY_CHARGE_PENDING_EXPIRY_MS", "5000",
                        "PAYRELAY_CHARGE_RESOLVE_HORIZON_MS", "5000")))
        .isInstanceOf(PayrelayException.class)
        .hasMessageContaining("PAYRELAY_CHARGE_PENDING_EXPIRY_MS (5000) must be less than");

    List<Setting<?>> known = new ArrayList<>(ChargeConfig.SETTINGS);
    known.addAll(ProviderManners.settingsOf("PAYRELAY_STRIPE"));
    Settings settings =
        Settings.check(Map.of("PAYRELAY_STRIPE_PENDING_EXPIRY_MS", "259200001"), known, known);
    assertThatThrownBy(() -> ChargeConfig.from(settings, Map.of("stripe", "PAYRELAY_STRIPE")))
        .hasMessageContaining("PAYRELAY_STRIPE_PENDING_EXPIRY_MS (259200001)");
  }

  @Test
  void namesAWrongDelay() {
    assertThatThrownBy(() -> from(Map.of("PAYRELAY_CHARGE_QUERY_DELAYS_MS", "100,0")))
        .hasMessageContaining("PAYRELAY_CHARGE_QUERY_DELAYS_MS is \"100,0\"");
  }
}
