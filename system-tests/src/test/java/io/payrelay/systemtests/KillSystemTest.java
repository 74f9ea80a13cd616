package io.payrelay.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.app.Parts;
import io.payrelay.localstack.LocalStack;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.simulator.FaultProfile;
import io.payrelay.simulator.ProviderSimulator;
import io.payrelay.simulator.SimulatorConfig;
import io.payrelay.workbench.DatabaseUsers;
import io.payrelay.workbench.DemoSettings;
import io.payrelay.workbench.Invariants;
import io.payrelay.workbench.Report;
import io.payrelay.workbench.Shop;
import io.payrelay.workbench.StatusTopic;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import org.jdbi.v3.core.Jdbi;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** kill -9 of the real processes, at instants that the seed decides, while the provider storms. */
final class KillSystemTest {

  private static final boolean LONG = Boolean.getBoolean("payrelay.long");
  private static final int PAYMENTS = LONG ? 3000 : 300;
  private static final int KILLS = LONG ? 60 : 9;
  private static final Duration POLL = Duration.ofMillis(100);

  @TempDir Path folder;

  @Test
  @Timeout(1200)
  void killingRelayWorkerAndIngestInAStormLosesAndDoublesNothing() throws Exception {
    long seed = Long.getLong("payrelay.seed", 11);
    System.out.println("seed " + seed + " (-Dpayrelay.seed pins it)");
    SplittableRandom random = new SplittableRandom(seed);
    long startNs = System.nanoTime();
    try (LocalStack infra = LocalStack.builder().start();
        ProviderSimulator simulator =
            ProviderSimulator.start(
                SimulatorConfig.builder().seed(seed).profile(FaultProfile.STORM).build())) {
      Parts.migrate(OutboxStream.environment(infra, infra.postgres().user(), Map.of()));
      DatabaseUsers.create(infra.postgres().jdbcUrl(), infra.postgres().user());
      int port = freePort();
      simulator.webhookTarget(URI.create("http://127.0.0.1:" + port + "/webhooks/simulator"));
      Map<String, String> ingestSettings = new HashMap<>(DemoSettings.ingest());
      ingestSettings.put("PAYRELAY_INGEST_PORT", Integer.toString(port));
      try (Child relay = start(infra, DatabaseUsers.RELAY, Map.of(), "relay");
          Child worker =
              start(
                  infra,
                  DatabaseUsers.WORKER,
                  DemoSettings.worker(simulator.baseUrl()),
                  "charge-worker");
          Child ingest = start(infra, DatabaseUsers.INGEST, ingestSettings, "webhook-ingest")) {
        List<Child> children = List.of(relay, worker, ingest);
        children.forEach(Child::awaitReady);
        Shop shop = new Shop(infra.postgres().jdbcUrl(), seed);
        Invariants invariants =
            new Invariants(Jdbi.create(infra.postgres().jdbcUrl(), infra.postgres().user(), ""));
        try (StatusTopic topic =
            new StatusTopic(new KafkaConfig(infra.kafka().bootstrapServers(), Map.of()))) {
          storm(random, children, shop, topic);
          long deadlineNs = System.nanoTime() + Duration.ofMinutes(4).toNanos();
          while (System.nanoTime() < deadlineNs
              && (invariants.unresolved() > 0 || invariants.missingStatusEvents(topic, POLL) > 0)) {
            topic.poll(POLL);
          }

          Report report =
              invariants.check(
                  simulator.charges(), topic, Duration.ofNanos(System.nanoTime() - startNs));
          assertThat(report.violations()).as("seed %d: %s", seed, report).isEmpty();
          assertThat(report.payments()).isEqualTo(PAYMENTS);
          assertThat(report.succeeded()).isPositive();
        }
      }
    }
  }

  /** Payments in portions, and after each portion a kill at a random moment soon after it. */
  private static void storm(
      SplittableRandom random, List<Child> children, Shop shop, StatusTopic topic)
      throws Exception {
    int[] lives = {1, 1, 1};
    int portion = PAYMENTS / KILLS;
    for (int kill = 0; kill < KILLS; kill++) {
      int first = kill * portion;
      int end = kill == KILLS - 1 ? PAYMENTS : first + portion;
      CompletableFuture<Void> ordering = CompletableFuture.runAsync(() -> shop.order(first, end));
      long untilNs = System.nanoTime() + random.nextLong(1_500_000_000L);
      while (System.nanoTime() < untilNs) {
        topic.poll(Duration.ofMillis(20));
      }
      int victim = kill < children.size() ? kill : random.nextInt(children.size());
      children.get(victim).killAndRestart();
      // The other parts go on meanwhile; its next kill waits until it lives again.
      children.get(victim).awaitReady(++lives[victim]);
      ordering.join();
    }
  }

  private Child start(LocalStack infra, String user, Map<String, String> settings, String command)
      throws Exception {
    return Child.start(folder, OutboxStream.environment(infra, user, settings), command);
  }

  private static int freePort() throws Exception {
    try (ServerSocket socket = new ServerSocket(0)) {
      return socket.getLocalPort();
    }
  }
}
