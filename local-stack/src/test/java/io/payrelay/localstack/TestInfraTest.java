package io.payrelay.localstack;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import org.junit.jupiter.api.Test;

class TestInfraTest {
  @Test
  void replacesTheDatabaseAndKeepsTheParameters() {
    assertThat(TestInfra.withDatabase("jdbc:postgresql://h:1/a?sslmode=require", "b"))
        .isEqualTo("jdbc:postgresql://h:1/b?sslmode=require");
    assertThatThrownBy(() -> TestInfra.withDatabase("jdbc:postgresql://h:1", "b"))
        .isInstanceOf(LocalStackException.class);
  }

  @Test
  void takesExternalServersFromTheEnvironment() {
    TestInfra infra =
        TestInfra.of(
            InfraMode.EXTERNAL, Map.of("PAYRELAY_TEST_KAFKA_BOOTSTRAP_SERVERS", "broker:9092"));

    assertThat(infra.bootstrapServers()).isEqualTo("broker:9092");
    assertThatThrownBy(infra::newDatabase).hasMessageContaining("PAYRELAY_TEST_DATABASE_URL");
  }

  @Test
  void refusesAnUnknownMode() {
    assertThatThrownBy(() -> InfraMode.parse("docker"))
        .hasMessageContaining("auto, embedded, containers or external");
  }

  @Test
  void formatsTheLineOfTheInfraCommand() {
    assertThat(
            InfraLine.format("jdbc:postgresql://127.0.0.1:5/payrelay", "payrelay", "127.0.0.1:6"))
        .isEqualTo(
            "ready jdbc=jdbc:postgresql://127.0.0.1:5/payrelay user=payrelay kafka=127.0.0.1:6");
  }
}
