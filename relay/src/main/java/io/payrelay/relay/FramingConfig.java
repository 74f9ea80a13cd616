package io.payrelay.relay;

import io.payrelay.platform.config.Secret;
import io.payrelay.platform.config.Setting;
import io.payrelay.platform.config.Settings;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.util.List;

/**
 * How Avro bytes are framed, and for Confluent's framing the registry that gives the ids.
 * Immutable.
 *
 * @param registryUrl of an Apicurio Registry, without the path of an API; empty: none
 * @param registryUser empty: no credentials are sent
 */
public record FramingConfig(
    boolean confluent, String registryUrl, String registryUser, Secret registryPassword) {

  private static final String SINGLE_OBJECT = "single-object";
  private static final String CONFLUENT = "confluent";

  public static final Setting<String> FRAMING =
      new Setting<>(
          "PAYRELAY_RELAY_FRAMING",
          SINGLE_OBJECT + " or " + CONFLUENT,
          SINGLE_OBJECT,
          "how Avro bytes are framed in records; confluent needs a schema registry",
          FramingConfig::checkFraming,
          false);
  public static final Setting<String> REGISTRY_URL =
      new Setting<>(
          "PAYRELAY_SCHEMA_REGISTRY_URL",
          "http(s)://HOST:PORT",
          "",
          "Apicurio Registry where the schemas are registered; for framing confluent only",
          FramingConfig::checkUrl,
          false);
  public static final Setting<String> REGISTRY_USER =
      Setting.text(
          "PAYRELAY_SCHEMA_REGISTRY_USER", "", "user of the registry; empty: no credentials");
  public static final Setting<Secret> REGISTRY_PASSWORD =
      Setting.secret("PAYRELAY_SCHEMA_REGISTRY_PASSWORD", "", "password of that user");

  /** All of them. */
  public static final List<Setting<?>> SETTINGS =
      List.of(FRAMING, REGISTRY_URL, REGISTRY_USER, REGISTRY_PASSWORD);

  /** Refuses Confluent's framing without a registry. */
  public FramingConfig {
    if (confluent && registryUrl.isEmpty()) {
      throw new PayrelayException(
          Category.FATAL,
          "PAYRELAY_RELAY_FRAMING is confluent, which needs PAYRELAY_SCHEMA_REGISTRY_URL");
    }
  }

  /** Reads the checked settings. */
  public static FramingConfig from(Settings settings) {
    return new FramingConfig(
        settings.read(FRAMING).equals(CONFLUENT),
        settings.read(REGISTRY_URL),
        settings.read(REGISTRY_USER),
        settings.read(REGISTRY_PASSWORD));
  }

  private static String checkFraming(String text) {
    if (!text.equals(SINGLE_OBJECT) && !text.equals(CONFLUENT)) {
      throw new IllegalArgumentException("not a known framing");
    }
    return text;
  }

  /** Whoever gives the address of one of its APIs means the server. */
  private static String checkUrl(String text) {
    if (!text.isEmpty() && !text.matches("https?://[^\\s/@]+(/\\S*)?")) {
      throw new IllegalArgumentException("not an address, or one with a password in it");
    }
    return text.replaceFirst("/apis/.*$", "").replaceFirst("/+$", "");
  }
}
