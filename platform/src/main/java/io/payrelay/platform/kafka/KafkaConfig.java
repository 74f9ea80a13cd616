package io.payrelay.platform.kafka;

import io.payrelay.platform.config.Setting;
import io.payrelay.platform.config.Settings;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Where Kafka is, and the operator's own client properties (TLS, SASL). Immutable. */
public record KafkaConfig(String bootstrapServers, Map<String, String> extra) {

  public static final Setting<String> BOOTSTRAP_SERVERS =
      Setting.text(
          "PAYRELAY_KAFKA_BOOTSTRAP_SERVERS", null, "host:port of one or more brokers of Kafka 4");
  public static final Setting<Path> PROPERTIES_FILE =
      Setting.path(
          "PAYRELAY_KAFKA_PROPERTIES_FILE",
          "",
          "file of further client properties, for TLS and SASL; empty: none");

  /** All of them. */
  public static final List<Setting<?>> SETTINGS = List.of(BOOTSTRAP_SERVERS, PROPERTIES_FILE);

  /** Copies the map. */
  public KafkaConfig {
    extra = Map.copyOf(extra);
  }

  /**
   * Reads the checked settings and the properties file.
   *
   * @throws PayrelayException FATAL where the file cannot be read
   */
  public static KafkaConfig from(Settings settings) {
    return new KafkaConfig(
        settings.read(BOOTSTRAP_SERVERS), readFile(settings.read(PROPERTIES_FILE)));
  }

  /** Properties that every client takes. */
  public Map<String, Object> clientProperties(String clientId) {
    Map<String, Object> properties = new HashMap<>(extra);
    properties.put(CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG, bootstrapServers);
    properties.put(CommonClientConfigs.CLIENT_ID_CONFIG, clientId);
    return properties;
  }

  /** Properties of a consumer of bytes that sees committed records only and commits by hand. */
  public Map<String, Object> consumerProperties(String clientId) {
    Map<String, Object> properties = clientProperties(clientId);
    properties.put(ConsumerConfig.ISOLATION_LEVEL_CONFIG, "read_committed");
    properties.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false);
    properties.put(ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class);
    properties.put(ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, ByteArrayDeserializer.class);
    return properties;
  }

  /** Without the operator's own properties: passwords are among them. */
  @Override
  public String toString() {
    return "KafkaConfig[" + bootstrapServers + "]";
  }

  private static Map<String, String> readFile(Path file) {
    Map<String, String> extra = new HashMap<>();
    if (file.toString().isEmpty()) {
      return extra;
    }
    Properties properties = new Properties();
    try (Reader reader = Files.newBufferedReader(file)) {
      properties.load(reader);
    } catch (IOException | IllegalArgumentException e) {
      throw new PayrelayException(
          Category.FATAL,
          "PAYRELAY_KAFKA_PROPERTIES_FILE names " + file + ", which cannot be read",
          e);
    }
    properties.stringPropertyNames().forEach(key -> extra.put(key, properties.getProperty(key)));
    return extra;
  }
}
