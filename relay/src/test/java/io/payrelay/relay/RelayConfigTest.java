package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.payrelay.platform.config.Settings;
import io.payrelay.platform.errors.PayrelayException;
import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;

class RelayConfigTest {

  @Test
  void defaultsAreThoseOfTheDesign() {
    RelayConfig config = read(Map.of());

    assertThat(config.slotName()).isEqualTo("payrelay");
    assertThat(config.publicationName()).isEqualTo("payrelay_outbox");
    assertThat(config.instanceName()).endsWith("-" + ProcessHandle.current().pid());
    assertThat(config.lease()).isEqualTo(Duration.ofSeconds(3));
    assertThat(config.leaseRenew()).isEqualTo(Duration.ofSeconds(1));
    assertThat(config.batchSizeMax()).isEqualTo(2048);
    assertThat(config.slotFailover()).isFalse();
    assertThat(config.transactionalId()).isEqualTo("payrelay-relay-payrelay");
  }

  @Test
  void wrongValuesAreNamed() {
    assertThatThrownBy(
            () ->
                read(
                    Map.of(
                        "PAYRELAY_RELAY_SLOT_NAME", "Slot-1",
                        "PAYRELAY_RELAY_FRAMING", "protobuf",
                        "PAYRELAY_SCHEMA_REGISTRY_URL", "http://me:secret@registry",
                        "PAYRELAY_RELAY_LEASE_MS", "1")))
        .isInstanceOf(PayrelayException.class)
        .hasMessageContaining("PAYRELAY_RELAY_SLOT_NAME")
        .hasMessageContaining("PAYRELAY_RELAY_FRAMING")
        .hasMessageContaining("PAYRELAY_SCHEMA_REGISTRY_URL")
        .hasMessageNotContaining("secret")
        .hasMessageContaining("PAYRELAY_RELAY_LEASE_MS");
    assertThatThrownBy(() -> read(Map.of("PAYRELAY_RELAY_LEASE_RENEW_MS", "2000")))
        .hasMessageContaining("more than half")
        .hasMessageContaining("PAYRELAY_RELAY_LEASE_MS");
    assertThatThrownBy(() -> read(Map.of("PAYRELAY_RELAY_BACKOFF_FIRST_MS", "20000")))
        .hasMessageContaining("PAYRELAY_RELAY_BACKOFF_FIRST_MS is 20000")
        .hasMessageContaining("PAYRELAY_RELAY_BACKOFF_MAX_MS");
    assertThatThrownBy(() -> read(Map.of("PAYRELAY_RELAY_SLOT_FAILOVER", "perhaps")))
        .hasMessageContaining("PAYRELAY_RELAY_SLOT_FAILOVER");
    assertThatThrownBy(() -> read(Map.of("PAYRELAY_RELAY_FRAMING", "confluent")))
        .hasMessageContaining("needs PAYRELAY_SCHEMA_REGISTRY_URL");
    assertThatThrownBy(() -> read(Map.of("PAYRELAY_SCHEMAS_DIR", "/does/not/exist")).catalogue())
        .hasMessageContaining("PAYRELAY_SCHEMAS_DIR");
  }

  private static RelayConfig read(Map<String, String> environment) {
    return RelayConfig.from(
        Settings.check(environment, RelayConfig.SETTINGS, RelayConfig.SETTINGS));
  }
}
