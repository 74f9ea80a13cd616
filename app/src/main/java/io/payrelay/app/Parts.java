package io.payrelay.app;

import io.payrelay.chargeworker.ChargeConfig;
import io.payrelay.chargeworker.ChargeDependencies;
import io.payrelay.chargeworker.ChargeFaults;
import io.payrelay.chargeworker.ChargeWorker;
import io.payrelay.platform.config.Secret;
import io.payrelay.platform.config.Setting;
import io.payrelay.platform.config.Settings;
import io.payrelay.platform.database.Database;
import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.Failures;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.platform.kafka.KafkaReach;
import io.payrelay.platform.telemetry.Telemetry;
import io.payrelay.platform.telemetry.TelemetryConfig;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.WebhookAdapter;
import io.payrelay.providers.generic.GenericConfig;
import io.payrelay.providers.generic.GenericWebhookConfig;
import io.payrelay.providers.generic.GenericWebhooks;
import io.payrelay.providers.stripe.StripeWebhookConfig;
import io.payrelay.providers.stripe.StripeWebhooks;
import io.payrelay.relay.RecoveryOptions;
import io.payrelay.relay.RecoveryReport;
import io.payrelay.relay.Relay;
import io.payrelay.relay.RelayBootstrap;
import io.payrelay.relay.RelayConfig;
import io.payrelay.relay.RelayFaults;
import io.payrelay.relay.RelayRecovery;
import io.payrelay.relay.RepublishReport;
import io.payrelay.relay.RepublishSelection;
import io.payrelay.relay.Republisher;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.Migrations;
import io.payrelay.webhook.IngestConfig;
import io.payrelay.webhook.IngestFaults;
import io.payrelay.webhook.WebhookIngest;
import java.security.SecureRandom;
import java.sql.SQLException;
import java.time.Clock;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jdbi.v3.core.Handle;
import org.jspecify.annotations.Nullable;
import org.postgresql.ds.PGSimpleDataSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Wires the parts from their environment. Tests and the workbench use the same wiring. */
public final class Parts {

  private static final Logger log = LoggerFactory.getLogger(Parts.class);

  private static final int SECRET_BYTES = 32;

  private Parts() {}

  /**
   * Does what {@code migrate} does.
   *
   * @throws PayrelayException FATAL with a sentence where something stands against it
   */
  public static void migrate(Map<String, String> environment) {
    Settings settings = AppSettings.check(environment, AppSettings.MIGRATE);
    DatabaseConfig database = DatabaseConfig.from(settings);
    RelayConfig relay = RelayConfig.from(settings);
    PGSimpleDataSource owner = new PGSimpleDataSource();
    owner.setUrl(database.url());
    owner.setUser(database.user());
    owner.setPassword(database.password().reveal());
    owner.setApplicationName("payrelay-migrate");
    new RelayBootstrap(owner, KafkaConfig.from(settings), relay, catalogue(relay)).run();
  }

  /**
   * Does what {@code relay recover} does.
   *
   * @param execute false: only says what it would do
   */
  public static RecoveryReport recover(
      Map<String, String> environment,
      RecoveryOptions options,
      boolean execute,
      Consumer<String> progress) {
    Settings settings = AppSettings.check(environment, AppSettings.MIGRATE);
    RelayConfig config = RelayConfig.from(settings);
    RelayRecovery recovery =
        new RelayRecovery(
            config,
            DatabaseConfig.from(settings),
            KafkaConfig.from(settings),
            catalogue(config),
            Clock.systemUTC(),
            progress);
    return execute ? recovery.execute(options) : recovery.plan(options);
  }

  /**
   * Does what {@code republish} does.
   *
   * @param execute false: only says what it would do
   */
  public static RepublishReport republish(
      Map<String, String> environment,
      RepublishSelection selection,
      boolean execute,
      Consumer<String> progress) {
    Settings settings = AppSettings.check(environment, AppSettings.MIGRATE);
    RelayConfig config = RelayConfig.from(settings);
    Republisher republisher =
        new Republisher(
            config,
            DatabaseConfig.from(settings),
            KafkaConfig.from(settings),
            catalogue(config),
            Clock.systemUTC(),
            progress);
    return execute ? republisher.execute(selection) : republisher.plan(selection);
  }

  /** Starts a relay. */
  public static Part relay(Map<String, String> environment) {
    return relay(environment, RelayFaults.NONE);
  }

  /** The same, with faults: for the chaos run. */
  public static Part relay(Map<String, String> environment, RelayFaults faults) {
    Settings settings = check("relay", environment, AppSettings.RELAY);
    RelayConfig config = RelayConfig.from(settings);
    Telemetry telemetry = Telemetry.start(TelemetryConfig.from(settings));
    return closingOnFailure(
        telemetry,
        () -> {
          Relay relay =
              new Relay(
                  config,
                  DatabaseConfig.from(settings),
                  KafkaConfig.from(settings),
                  catalogue(config),
                  telemetry.registry(),
                  Clock.systemUTC(),
                  new SecureRandom(),
                  faults);
          telemetry.live("process", relay::liveness);
          telemetry.ready("relay", relay::readiness);
          relay.start();
          return new Running(
              "relay",
              "ready relay slot=" + config.slotName() + " " + metrics(telemetry),
              telemetry::readiness,
              relay.ended(),
              List.of(relay, telemetry));
        });
  }

  /** Starts a charge worker. */
  public static Part chargeWorker(Map<String, String> environment) {
    return chargeWorker(environment, ChargeFaults.NONE);
  }

  /** The same, with faults: for the chaos run. */
  public static Part chargeWorker(Map<String, String> environment, ChargeFaults faults) {
    Settings settings = check("charge-worker", environment, AppSettings.CHARGE_WORKER);
    ProviderParts configured = ProviderParts.from(settings);
    Telemetry telemetry = Telemetry.start(TelemetryConfig.from(settings));
    return closingOnFailure(
        telemetry,
        () -> {
          Database database =
              checked(
                  Database.openForKeys(DatabaseConfig.from(settings), "payrelay-charge-worker"));
          return closingOnFailure(
              database,
              () -> {
                List<PaymentProvider> providers = configured.open(Clock.systemUTC());
                ChargeWorker worker =
                    ChargeWorker.start(
                        ChargeConfig.from(settings, mannersPrefixes(settings)),
                        new ChargeDependencies(
                            KafkaConfig.from(settings),
                            database.jdbi(),
                            EventCatalogue.builtIn(),
                            providers,
                            telemetry.registry(),
                            Clock.systemUTC(),
                            new SecureRandom(),
                            faults));
                KafkaReach kafka =
                    new KafkaReach(KafkaConfig.from(settings), "payrelay-charge-worker-health");
                telemetry.live("process", () -> liveness(worker.ended()));
                telemetry.ready("charge-worker", worker::health);
                telemetry.ready("database", database::reach);
                telemetry.ready("kafka", kafka::ask);
                return new Running(
                    "charge-worker",
                    "ready charge-worker " + metrics(telemetry),
                    telemetry::readiness,
                    worker.ended(),
                    closedInOrder(List.of(kafka, worker), providers, List.of(database, telemetry)));
              });
        });
  }

  /** What the own settings of each provider begin with, by the name that payments give it. */
  private static Map<String, String> mannersPrefixes(Settings settings) {
    Map<String, String> prefixes = new HashMap<>();
    prefixes.put(StripeWebhooks.NAME, AppSettings.STRIPE_PREFIX);
    prefixes.put(settings.read(GenericConfig.NAME), AppSettings.GENERIC_PREFIX);
    return prefixes;
  }

  /** Starts a webhook ingest. */
  public static Part webhookIngest(Map<String, String> environment) {
    Settings settings = check("webhook-ingest", environment, AppSettings.WEBHOOK_INGEST);
    Telemetry telemetry = Telemetry.start(TelemetryConfig.from(settings));
    return closingOnFailure(
        telemetry,
        () -> {
          WebhookIngest ingest =
              WebhookIngest.start(
                  IngestConfig.from(settings),
                  DatabaseConfig.from(settings),
                  webhookAdapters(settings),
                  telemetry,
                  Clock.systemUTC(),
                  new SecureRandom(),
                  IngestFaults.NONE);
          return new Running(
              "webhook-ingest",
              "ready webhook-ingest port=" + ingest.port() + " " + metrics(telemetry),
              telemetry::readiness,
              ingest.ended(),
              List.of(ingest, telemetry));
        });
  }

  /** For reading what was verified when it came: whoever reads it again needs no secret. */
  static List<WebhookAdapter> webhookReaders(Settings settings) {
    byte[] any = new byte[SECRET_BYTES];
    new SecureRandom().nextBytes(any);
    Secret nobodys = new Secret("whsec_" + Base64.getEncoder().encodeToString(any));
    WebhookAdapter generic =
        new GenericWebhooks(
            new GenericWebhookConfig(
                settings.read(GenericConfig.NAME),
                List.of(nobodys),
                settings.read(GenericWebhookConfig.TOLERANCE),
                !settings.read(GenericConfig.QUERIES)));
    WebhookAdapter stripe =
        new StripeWebhooks(
            new StripeWebhookConfig(
                List.of(nobodys),
                settings.read(StripeWebhookConfig.TOLERANCE),
                settings.read(StripeWebhookConfig.LIVE_MODE),
                settings.read(StripeWebhookConfig.ACCOUNT)));
    // A generic provider may have that name where Stripe is not used.
    return generic.name().equals(stripe.name()) ? List.of(generic) : List.of(generic, stripe);
  }

  private static List<WebhookAdapter> webhookAdapters(Settings settings) {
    List<WebhookAdapter> adapters = new ArrayList<>();
    StripeWebhookConfig stripe = StripeWebhookConfig.from(settings);
    if (!stripe.secrets().isEmpty()
        && settings.read(GenericConfig.NAME).equals(StripeWebhooks.NAME)) {
      throw new PayrelayException(
          Category.FATAL,
          "%s is \"%s\" although %s is set: two providers cannot have one name; change the first or empty the second"
              .formatted(
                  GenericConfig.NAME.name(),
                  StripeWebhooks.NAME,
                  StripeWebhookConfig.SECRETS.name()));
    }
    try {
      GenericWebhookConfig generic = GenericWebhookConfig.from(settings);
      if (!generic.secrets().isEmpty()) {
        adapters.add(new GenericWebhooks(generic));
      }
      if (!stripe.secrets().isEmpty()) {
        adapters.add(new StripeWebhooks(stripe));
      }
    } catch (IllegalArgumentException e) {
      // Names the place of a wrong secret, never its value.
      throw new PayrelayException(
          Category.FATAL, "The webhook settings are wrong: " + e.getMessage(), e);
    }
    if (adapters.isEmpty()) {
      throw new PayrelayException(
          Category.FATAL,
          "No provider's webhooks are taken: set %s or %s"
              .formatted(GenericWebhookConfig.SECRETS.name(), StripeWebhookConfig.SECRETS.name()));
    }
    return adapters;
  }

  @SafeVarargs
  private static List<AutoCloseable> closedInOrder(List<? extends AutoCloseable>... parts) {
    List<AutoCloseable> all = new ArrayList<>();
    for (List<? extends AutoCloseable> some : parts) {
      all.addAll(some);
    }
    return all;
  }

  private record Running(
      String name,
      String ready,
      Supplier<String> readinessCheck,
      CompletableFuture<?> ended,
      List<AutoCloseable> parts)
      implements Part {

    @Override
    public String readiness() {
      return readinessCheck.get();
    }

    @Override
    public void close() {
      RuntimeException failure = null;
      for (AutoCloseable part : parts) {
        failure = closed(part, failure);
      }
      if (failure != null) {
        throw failure;
      }
    }
  }

  private static Settings check(
      String name, Map<String, String> environment, List<Setting<?>> needed) {
    Settings settings = AppSettings.check(environment, needed);
    log.info("starting part={} configuration={}", name, settings.effective(needed));
    return settings;
  }

  /** Opens the pool and refuses a schema that this build was not made for. */
  static Database open(Settings settings, String applicationName) {
    return checked(Database.open(DatabaseConfig.from(settings), applicationName));
  }

  private static Database checked(Database database) {
    return closingOnFailure(
        database,
        () -> {
          String problem = schemaProblem(database);
          if (problem != null) {
            throw new PayrelayException(Category.FATAL, problem);
          }
          return database;
        });
  }

  private static @Nullable String schemaProblem(Database database) {
    try (Handle handle = database.jdbi().open()) {
      return Migrations.problem(handle.getConnection());
    } catch (SQLException e) {
      throw new PayrelayException(
          Failures.categoryOf(e), "The schema's version cannot be read: " + e.getMessage(), e);
    }
  }

  private static EventCatalogue catalogue(RelayConfig config) {
    try {
      return EventCatalogue.withFolder(config.schemasDir());
    } catch (IllegalArgumentException e) {
      throw new PayrelayException(Category.FATAL, "PAYRELAY_SCHEMAS_DIR: " + e.getMessage(), e);
    }
  }

  private static String liveness(CompletableFuture<?> ended) {
    return ended.isDone() ? "has stopped" : "ok";
  }

  private static String metrics(Telemetry telemetry) {
    return "metrics_port=" + telemetry.port();
  }

  private static <T> T closingOnFailure(AutoCloseable opened, Supplier<T> rest) {
    try {
      return rest.get();
    } catch (RuntimeException e) {
      RuntimeException failure = closed(opened, e);
      throw failure == null ? e : failure;
    }
  }

  private static @Nullable RuntimeException closed(
      AutoCloseable part, @Nullable RuntimeException failure) {
    try {
      part.close();
      return failure;
    } catch (Exception e) {
      if (e instanceof InterruptedException) {
        Thread.currentThread().interrupt();
      }
      if (failure == null) {
        return new IllegalStateException(part.getClass().getSimpleName() + " does not close", e);
      }
      failure.addSuppressed(e);
      return failure;
    }
  }
}
