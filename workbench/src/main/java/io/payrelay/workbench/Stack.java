package io.payrelay.workbench;

import io.payrelay.app.Part;
import io.payrelay.app.PartRunner;
import io.payrelay.app.Parts;
import io.payrelay.localstack.LocalStack;
import io.payrelay.simulator.FaultProfile;
import io.payrelay.simulator.ProviderSimulator;
import io.payrelay.simulator.SimulatorConfig;
import java.net.URI;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.jdbi.v3.core.Jdbi;

/**
 * The whole system in one process, each part under a database user of its own with no more rights
 * than it has in production. Safe for any thread once started.
 */
final class Stack implements AutoCloseable {

  private final LocalStack infra;
  private final ProviderSimulator simulator;
  private final List<Part> parts;
  private final int ingestPort;

  private Stack(LocalStack infra, ProviderSimulator simulator, List<Part> parts, int ingestPort) {
    this.infra = infra;
    this.simulator = simulator;
    this.parts = parts;
    this.ingestPort = ingestPort;
  }

  /**
   * Starts everything.
   *
   * @param progress is told what is being started
   */
  static Stack start(
      LocalStack infra,
      FaultProfile profile,
      long seed,
      LearnBy learnBy,
      Consumer<String> progress) {
    return start(infra, profile, seed, learnBy, /* withWorker= */ true, progress);
  }

  /** The same without a charge worker: {@link #workerEnvironment} is for those of others. */
  static Stack startWithoutWorker(
      LocalStack infra,
      FaultProfile profile,
      long seed,
      LearnBy learnBy,
      Consumer<String> progress) {
    return start(infra, profile, seed, learnBy, /* withWorker= */ false, progress);
  }

  private static Stack start(
      LocalStack infra,
      FaultProfile profile,
      long seed,
      LearnBy learnBy,
      boolean withWorker,
      Consumer<String> progress) {
    ProviderSimulator simulator =
        ProviderSimulator.start(
            SimulatorConfig.builder()
                .seed(seed)
                .profile(profile)
                .apiKey(DemoSettings.API_KEY)
                .webhookSecret(DemoSettings.WEBHOOK_SECRET)
                // Without queries a webhook that is lost for good leaves nothing to learn from.
                .everyWebhookArrives(learnBy == LearnBy.WEBHOOKS)
                .build());
    List<Part> parts = new ArrayList<>();
    try {
      progress.accept("tables, slot and topics");
      Map<String, String> owner = environment(infra, infra.postgres().user());
      Parts.migrate(owner);
      DatabaseUsers.create(infra.postgres().jdbcUrl(), infra.postgres().user());
      progress.accept("webhook ingest");
      Map<String, String> ingest = environment(infra, DatabaseUsers.INGEST);
      ingest.putAll(DemoSettings.ingest());
      ingest.put("PAYRELAY_PROVIDER_QUERIES", queries(learnBy));
      Part webhookIngest = Parts.webhookIngest(ingest);
      parts.add(webhookIngest);
      int port = port(webhookIngest.ready());
      if (learnBy != LearnBy.QUERIES) {
        simulator.webhookTarget(URI.create("http://127.0.0.1:" + port + "/webhooks/simulator"));
      }
      if (withWorker) {
        progress.accept("charge worker");
        parts.add(Parts.chargeWorker(workerEnvironment(infra, simulator, learnBy)));
      }
      progress.accept("relay");
      parts.add(Parts.relay(environment(infra, DatabaseUsers.RELAY)));
      parts.forEach(part -> PartRunner.awaitReady(part, reason -> {}));
      return new Stack(infra, simulator, parts, port);
    } catch (RuntimeException e) {
      closeAll(parts, simulator);
      throw e;
    }
  }

  /** The environment that a process of that user needs to reach database and Kafka. */
  static Map<String, String> environment(LocalStack infra, String user) {
    Map<String, String> environment = new HashMap<>();
    environment.put("PAYRELAY_DATABASE_URL", infra.postgres().jdbcUrl());
    environment.put("PAYRELAY_DATABASE_USER", user);
    environment.put("PAYRELAY_DATABASE_PASSWORD", infra.postgres().password());
    environment.put("PAYRELAY_KAFKA_BOOTSTRAP_SERVERS", infra.kafka().bootstrapServers());
    return environment;
  }

  /** What a charge worker needs, here or in a process of its own. */
  Map<String, String> workerEnvironment(LearnBy learnBy) {
    return workerEnvironment(infra, simulator, learnBy);
  }

  private static Map<String, String> workerEnvironment(
      LocalStack infra, ProviderSimulator simulator, LearnBy learnBy) {
    Map<String, String> worker = environment(infra, DatabaseUsers.WORKER);
    worker.putAll(DemoSettings.worker(simulator.baseUrl()));
    worker.put("PAYRELAY_PROVIDER_QUERIES", queries(learnBy));
    return worker;
  }

  private static String queries(LearnBy learnBy) {
    return Boolean.toString(learnBy != LearnBy.WEBHOOKS);
  }

  /** The port in a part's ready line. */
  static int port(String ready) {
    for (String word : ready.split(" ", -1)) {
      if (word.startsWith("port=")) {
        return Integer.parseInt(word.substring("port=".length()));
      }
    }
    throw new IllegalStateException("no port in: " + ready);
  }

  LocalStack infra() {
    return infra;
  }

  ProviderSimulator simulator() {
    return simulator;
  }

  int ingestPort() {
    return ingestPort;
  }

  List<String> ready() {
    return parts.stream().map(Part::ready).collect(Collectors.toList());
  }

  /** The database as its owner. */
  Jdbi owner() {
    return Jdbi.create(
        infra.postgres().jdbcUrl(), infra.postgres().user(), infra.postgres().password());
  }

  /** Completes, exceptionally, when a part has failed for good. */
  CompletableFuture<Object> ended() {
    return CompletableFuture.anyOf(
        parts.stream().map(Part::ended).toArray(CompletableFuture<?>[]::new));
  }

  @Override
  public void close() {
    closeAll(parts, simulator);
  }

  private static void closeAll(List<Part> parts, ProviderSimulator simulator) {
    RuntimeException failure = null;
    for (int i = parts.size() - 1; i >= 0; i--) {
      try {
        parts.get(i).close();
      } catch (RuntimeException e) {
        if (failure == null) {
          failure = e;
        } else {
          failure.addSuppressed(e);
        }
      }
    }
    simulator.close();
    if (failure != null) {
      throw failure;
    }
  }
}
