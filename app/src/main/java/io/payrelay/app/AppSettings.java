package io.payrelay.app;

import io.payrelay.chargeworker.ChargeConfig;
import io.payrelay.chargeworker.ProviderManners;
import io.payrelay.platform.config.Setting;
import io.payrelay.platform.config.Settings;
import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.platform.telemetry.TelemetryConfig;
import io.payrelay.providers.generic.GenericConfig;
import io.payrelay.providers.generic.GenericWebhookConfig;
import io.payrelay.providers.stripe.StripeConfig;
import io.payrelay.providers.stripe.StripeWebhookConfig;
import io.payrelay.relay.FramingConfig;
import io.payrelay.relay.RelayConfig;
import io.payrelay.webhook.IngestConfig;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Every setting there is, and which process reads which. */
public final class AppSettings {

  /** Read by the logging configuration, not by code: named here so that it is known. */
  static final Setting<String> LOG_LEVEL =
      Setting.text("PAYRELAY_LOG_LEVEL", "INFO", "log level of Payrelay's own classes");

  static final Setting<String> LIBRARY_LOG_LEVEL =
      Setting.text(
          "PAYRELAY_LIBRARY_LOG_LEVEL",
          "WARN",
          "log level of everything else: Debezium, Kafka ...");

  /** What the own settings of the generic provider and of Stripe begin with. */
  static final String GENERIC_PREFIX = "PAYRELAY_PROVIDER";

  static final String STRIPE_PREFIX = "PAYRELAY_STRIPE";

  private static final List<Setting<?>> MANNERS =
      join(ProviderManners.settingsOf(GENERIC_PREFIX), ProviderManners.settingsOf(STRIPE_PREFIX));

  static final List<Setting<?>> MIGRATE =
      join(DatabaseConfig.SETTINGS, KafkaConfig.SETTINGS, RelayConfig.SETTINGS);
  static final List<Setting<?>> RELAY =
      join(
          DatabaseConfig.SETTINGS,
          KafkaConfig.SETTINGS,
          TelemetryConfig.SETTINGS,
          RelayConfig.SETTINGS);
  static final List<Setting<?>> CHARGE_WORKER =
      join(
          DatabaseConfig.SETTINGS,
          KafkaConfig.SETTINGS,
          TelemetryConfig.SETTINGS,
          GenericConfig.SETTINGS,
          StripeConfig.SETTINGS,
          ChargeConfig.SETTINGS,
          MANNERS);
  static final List<Setting<?>> WEBHOOK_INGEST =
      join(
          DatabaseConfig.SETTINGS,
          TelemetryConfig.SETTINGS,
          GenericWebhookConfig.SETTINGS,
          StripeWebhookConfig.SETTINGS,
          IngestConfig.SETTINGS);
  static final List<Setting<?>> DEAD_LETTERS =
      join(
          DatabaseConfig.SETTINGS,
          KafkaConfig.SETTINGS,
          List.of(RelayConfig.SCHEMAS_DIR),
          FramingConfig.SETTINGS);
  static final List<Setting<?>> OPERATOR = join(DatabaseConfig.SETTINGS);

  /** The ingest's, without its secrets: to read a stored event again needs none. */
  static final List<Setting<?>> WEBHOOKS =
      join(
          DatabaseConfig.SETTINGS,
          List.of(
              GenericConfig.NAME,
              GenericConfig.QUERIES,
              GenericWebhookConfig.TOLERANCE,
              StripeWebhookConfig.TOLERANCE,
              StripeWebhookConfig.LIVE_MODE,
              StripeWebhookConfig.ACCOUNT,
              IngestConfig.PARK_LIMIT));

  static final List<Setting<?>> REPLAY =
      join(DatabaseConfig.SETTINGS, KafkaConfig.SETTINGS, List.of(RelayConfig.SCHEMAS_DIR));
  static final List<Setting<?>> CLIENT = join(DatabaseConfig.SETTINGS, KafkaConfig.SETTINGS);

  /** Of the Kafka settings what is there: without them the database is asked alone. */
  static final List<Setting<?>> STATUS =
      join(DatabaseConfig.SETTINGS, RelayConfig.SETTINGS, List.of(ChargeConfig.GROUP_ID));

  private AppSettings() {}

  /** All settings of all processes, each once, in the order of the documentation. */
  public static List<Setting<?>> all() {
    return join(
        MIGRATE, RELAY, CHARGE_WORKER, WEBHOOK_INGEST, List.of(LOG_LEVEL, LIBRARY_LOG_LEVEL));
  }

  /** What a command reads from its environment; empty for one that reads nothing. */
  public static List<Setting<?>> neededBy(String command) {
    return switch (command) {
      case "migrate", "republish" -> MIGRATE;
      case "relay" -> RELAY;
      case "charge-worker" -> CHARGE_WORKER;
      case "webhook-ingest" -> WEBHOOK_INGEST;
      case "pay" -> CLIENT;
      case "status" -> STATUS;
      case "dead-letters" -> DEAD_LETTERS;
      case "exceptions", "payment" -> OPERATOR;
      case "webhooks" -> WEBHOOKS;
      case "replay" -> REPLAY;
      case "tail" -> KafkaConfig.SETTINGS;
      default -> List.of();
    };
  }

  /** Checks the environment for what is needed; a variable that no process knows is a mistake. */
  public static Settings check(Map<String, String> environment, List<? extends Setting<?>> needed) {
    return Settings.check(environment, needed, all());
  }

  /** All settings as a Markdown table: what docs/configuration.md holds. */
  public static String table() {
    StringBuilder table =
        new StringBuilder("| variable | form | default | meaning |\n|---|---|---|---|\n");
    for (Setting<?> setting : all()) {
      String shown =
          setting.defaultText() == null
              ? "must be set"
              : setting.defaultText().isEmpty() ? "empty" : "`" + setting.defaultText() + "`";
      table.append(
          "| `%s` | %s | %s | %s |%n"
              .formatted(setting.name(), setting.form(), shown, setting.description()));
    }
    return table.toString().replace("\r", "");
  }

  @SafeVarargs
  private static List<Setting<?>> join(List<? extends Setting<?>>... lists) {
    Set<Setting<?>> joined = new LinkedHashSet<>();
    for (List<? extends Setting<?>> list : lists) {
      joined.addAll(list);
    }
    return new ArrayList<>(joined);
  }
}
