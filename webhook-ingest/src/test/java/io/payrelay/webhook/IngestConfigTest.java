package io.payrelay.webhook;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.payrelay.platform.config.Settings;
import java.util.Map;
import org.junit.jupiter.api.Test;

class IngestConfigTest {

  @Test
  void hasDefaultsForEverything() {
    IngestConfig config = read(Map.of());

    assertThat(config.host()).isEqualTo("127.0.0.1");
    assertThat(config.port()).isEqualTo(8085);
    assertThat(config.bodyBytesMax()).isEqualTo(256 * 1024);
    assertThat(config.headersMax()).isEqualTo(100);
    assertThat(config.providerRequestsMax()).isLessThan(config.concurrentRequestsMax());
    assertThat(config.park().limit()).hasHours(1);
  }

  @Test
  void namesEveryWrongSettingAtOnce() {
    assertThatThrownBy(
            () ->
                read(
                    Map.of(
                        "PAYRELAY_INGEST_PORT", "99999",
                        "PAYRELAY_INGEST_PARK_LIMIT_MS", "soon",
                        "PAYRELAY_INGEST_BODY_BYTE_MAX", "5")))
        .hasMessageContaining("PAYRELAY_INGEST_PORT")
        .hasMessageContaining("PAYRELAY_INGEST_PARK_LIMIT_MS")
        .hasMessageContaining("did you mean PAYRELAY_INGEST_BODY_BYTES_MAX");
  }

  private static IngestConfig read(Map<String, String> environment) {
    return IngestConfig.from(
        Settings.check(environment, IngestConfig.SETTINGS, IngestConfig.SETTINGS));
  }
}
