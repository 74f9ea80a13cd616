package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

/** The second run of the tests is of use only where it has the other PostgreSQL. */
@Timeout(90)
@EnabledIfSystemProperty(named = "payrelay.infra", matches = "auto|embedded")
@EnabledIfSystemProperty(named = "payrelay.postgresMajorVersion", matches = "\\d+")
class OldestPostgresIT {

  @Test
  void serverHasTheVersionThatTheBuildNames() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared()) {
      assertThat(fixture.serverMajorVersion())
          .isEqualTo(Integer.getInteger("payrelay.postgresMajorVersion"));
    }
  }
}
