package io.payrelay.platform.kafka;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.payrelay.platform.config.Settings;
import io.payrelay.platform.errors.PayrelayException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KafkaConfigTest {

  @TempDir Path dir;

  private KafkaConfig read(String file) {
    Map<String, String> environment =
        Map.of(
            "PAYRELAY_KAFKA_BOOTSTRAP_SERVERS",
            "broker:9092",
            "PAYRELAY_KAFKA_PROPERTIES_FILE",
            file);
    return KafkaConfig.from(
        Settings.check(environment, KafkaConfig.SETTINGS, KafkaConfig.SETTINGS));
  }

  private Path write(String text) throws IOException {
    return Files.writeString(dir.resolve("client.properties"), text);
  }

  @Test
  void passesTheOperatorsPropertiesToEveryClient() throws IOException {
    KafkaConfig config =
        read(write("security.protocol=SASL_SSL\nsasl.mechanism = PLAIN\n").toString());

    assertThat(config.consumerProperties("me"))
        .containsEntry("security.protocol", "SASL_SSL")
        .containsEntry("sasl.mechanism", "PLAIN")
        .containsEntry("bootstrap.servers", "broker:9092")
        .containsEntry("client.id", "me");
  }

  @Test
  void doesNotLetTheFileUndoWhatExactlyOnceNeeds() throws IOException {
    KafkaConfig config =
        read(
            write("isolation.level=read_uncommitted\nenable.auto.commit=true\nclient.id=x\n")
                .toString());

    assertThat(config.consumerProperties("me"))
        .containsEntry("isolation.level", "read_committed")
        .containsEntry("enable.auto.commit", false)
        .containsEntry("client.id", "me");
  }

  @Test
  void needsNoFile() {
    assertThat(read("").extra()).isEmpty();
  }

  @Test
  void saysWhichFileCannotBeRead() throws IOException {
    assertThatThrownBy(() -> read("/does/not/exist"))
        .isInstanceOf(PayrelayException.class)
        .hasMessageContaining("PAYRELAY_KAFKA_PROPERTIES_FILE names /does/not/exist");
    Path broken = write("key=\\uZZZZ");
    assertThatThrownBy(() -> read(broken.toString()))
        .isInstanceOf(PayrelayException.class)
        .hasMessageContaining("cannot be read");
  }

  @Test
  void doesNotPrintPasswords() throws IOException {
    KafkaConfig config = read(write("sasl.jaas.config=x password=\"canary\";").toString());

    assertThat(config).asString().doesNotContain("canary").contains("broker:9092");
  }
}
