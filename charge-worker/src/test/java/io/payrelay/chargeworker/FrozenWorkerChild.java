package io.payrelay.chargeworker;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.payrelay.platform.config.Secret;
import io.payrelay.platform.config.Settings;
import io.payrelay.platform.database.Database;
import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.providers.generic.GenericConfig;
import io.payrelay.providers.generic.GenericProvider;
import io.payrelay.schemas.EventCatalogue;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.net.URI;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * A worker as a process of its own. It says {@code claimed} and waits for a line before it goes on
 * to the call, and says {@code written} when an outcome is written.
 */
final class FrozenWorkerChild {

  static final String CALL_TIMEOUT_MS = "1500";
  static final String LEASE_MS = "4000";

  private FrozenWorkerChild() {}

  /** Arguments: JDBC address, user, password, bootstrap servers, provider's name and address. */
  public static void main(String[] args) {
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, UTF_8));
    Database database =
        Database.open(
            new DatabaseConfig(args[0], args[1], new Secret(args[2]), 4, Duration.ofSeconds(5)),
            "frozen-worker");
    GenericProvider provider =
        new GenericProvider(
            new GenericConfig(
                args[4],
                URI.create(args[5]),
                new Secret(ChargeFixture.API_KEY),
                Duration.ofSeconds(2),
                Duration.ofHours(24),
                Duration.ZERO,
                true),
            InstantSource.system());
    ChargeFaults faults =
        point -> {
          if (point == ChargeFaults.Point.AFTER_CLAIM) {
            say("claimed");
            awaitLine(in);
          } else if (point == ChargeFaults.Point.AFTER_WRITE) {
            say("written");
          }
        };
    ChargeWorker.start(
        ChargeConfig.from(
            Settings.check(
                Map.of(
                    "PAYRELAY_CHARGE_GROUP_ID",
                    ChargeFixture.GROUP,
                    "PAYRELAY_CHARGE_POLL_INTERVAL_MS",
                    "20",
                    "PAYRELAY_CHARGE_CALL_TIMEOUT_MS",
                    CALL_TIMEOUT_MS,
                    "PAYRELAY_CHARGE_LEASE_MS",
                    LEASE_MS),
                ChargeConfig.SETTINGS,
                ChargeConfig.SETTINGS)),
        new ChargeDependencies(
            new KafkaConfig(args[3], Map.of()),
            database.jdbi(),
            EventCatalogue.builtIn(),
            List.of(provider),
            new SimpleMeterRegistry(),
            InstantSource.system(),
            new Random(),
            faults));
    say("started");
  }

  private static void say(String word) {
    System.out.println("child " + word);
    System.out.flush();
  }

  private static void awaitLine(BufferedReader in) {
    try {
      if (in.readLine() == null) {
        throw new IllegalStateException("the test has gone");
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
