package io.payrelay.systemtests;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.payrelay.app.CommandLines;
import io.payrelay.app.Part;
import io.payrelay.app.PartRunner;
import io.payrelay.app.Parts;
import io.payrelay.app.PayrelayCommand;
import io.payrelay.localstack.LocalStack;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.schemas.Topic;
import io.payrelay.simulator.FaultProfile;
import io.payrelay.simulator.ProviderSimulator;
import io.payrelay.simulator.SimulatedCharge;
import io.payrelay.simulator.SimulatorConfig;
import io.payrelay.workbench.DatabaseUsers;
import io.payrelay.workbench.DemoSettings;
import io.payrelay.workbench.Invariants;
import io.payrelay.workbench.Shop;
import io.payrelay.workbench.StatusTopic;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.URI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.jdbi.v3.core.Jdbi;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import picocli.CommandLine;

/** An operator replays every charge request that there was, after a storm. */
final class ReplaySystemTest {

  private static final int PAYMENTS = 100;
  private static final String GROUP = "payrelay-charge-worker";
  private static final Duration POLL = Duration.ofMillis(100);
  private static final Duration LIMIT = Duration.ofMinutes(2);

  private record Result(int exitCode, String out, String err) {}

  @Test
  @Timeout(300)
  void replayingEverythingAfterAStormMovesNoMoneyAndChangesNoStatus() throws Exception {
    try (LocalStack infra = LocalStack.builder().start();
        ProviderSimulator simulator =
            ProviderSimulator.start(
                SimulatorConfig.builder().seed(5).profile(FaultProfile.STORM).build())) {
      Parts.migrate(OutboxStream.environment(infra, infra.postgres().user(), Map.of()));
      DatabaseUsers.create(infra.postgres().jdbcUrl(), infra.postgres().user());
      Map<String, String> worker =
          OutboxStream.environment(
              infra, DatabaseUsers.WORKER, DemoSettings.worker(simulator.baseUrl()));
      KafkaConfig kafka = new KafkaConfig(infra.kafka().bootstrapServers(), Map.of());
      Jdbi owner = Jdbi.create(infra.postgres().jdbcUrl(), infra.postgres().user(), "");
      Invariants invariants = new Invariants(owner);
      try (Part ingest =
              Parts.webhookIngest(
                  OutboxStream.environment(infra, DatabaseUsers.INGEST, DemoSettings.ingest()));
          Part relay = Parts.relay(OutboxStream.environment(infra, DatabaseUsers.RELAY, Map.of()));
          StatusTopic topic = new StatusTopic(kafka)) {
        simulator.webhookTarget(
            URI.create(
                "http://127.0.0.1:"
                    + Child.value(ingest.ready(), " port")
                    + "/webhooks/simulator"));
        assertThat(PartRunner.awaitReady(relay, reason -> {})).isTrue();
        try (Part first = Parts.chargeWorker(worker)) {
          assertThat(PartRunner.awaitReady(first, reason -> {})).isTrue();
          new Shop(infra.postgres().jdbcUrl(), 5).order(PAYMENTS);
          awaitEnds(invariants, topic);
          await().atMost(LIMIT).until(() -> lag(kafka) == 0);
          Result active = replay(infra, "--execute");
          assertThat(active.exitCode()).isEqualTo(1);
          assertThat(active.err()).contains("Group " + GROUP + " has members: charge-worker-");
        }
        List<SimulatedCharge> charges = simulator.charges();
        long changes = statusChanges(owner);
        long events = topic.events();

        Result plan = replay(infra);
        assertThat(plan.exitCode()).as(plan.err()).isZero();
        assertThat(plan.out())
            .contains(
                "would read 100 records of payrelay.charge-requests again",
                "100 of payments that have their end: nothing happens",
                "Nothing was changed");
        assertThat(lag(kafka)).isZero();
        Result done = replay(infra, "--execute");
        assertThat(done.exitCode()).as(done.err()).isZero();
        assertThat(lag(kafka)).isGreaterThanOrEqualTo(PAYMENTS);
        try (Part second = Parts.chargeWorker(worker)) {
          assertThat(PartRunner.awaitReady(second, reason -> {})).isTrue();
          await().atMost(LIMIT).until(() -> lag(kafka) == 0);
        }

        awaitEnds(invariants, topic);
        assertThat(simulator.charges()).isEqualTo(charges);
        assertThat(statusChanges(owner)).isEqualTo(changes);
        assertThat(topic.events()).isEqualTo(events);
        assertThat(invariants.check(simulator.charges(), topic, Duration.ZERO).violations())
            .isEmpty();
      }
    }
  }

  private static void awaitEnds(Invariants invariants, StatusTopic topic) {
    await()
        .atMost(LIMIT)
        .until(
            () -> invariants.unresolved() == 0 && invariants.missingStatusEvents(topic, POLL) == 0);
  }

  private static long statusChanges(Jdbi owner) {
    return owner.withHandle(
        handle ->
            handle
                .createQuery(
                    "SELECT count(*) FROM payrelay.outbox WHERE event_type = 'PaymentStatusChanged'")
                .mapTo(Long.class)
                .one());
  }

  /** Offsets of the topic that the group has not committed. */
  private static long lag(KafkaConfig kafka) throws Exception {
    try (Admin admin = Admin.create(kafka.clientProperties("replay-test"))) {
      Map<TopicPartition, OffsetAndMetadata> committed =
          admin.listConsumerGroupOffsets(GROUP).partitionsToOffsetAndMetadata().get();
      long lag = 0;
      for (int i = 0; i < 12; i++) {
        TopicPartition partition = new TopicPartition(Topic.CHARGE_REQUESTS, i);
        OffsetAndMetadata at = committed.get(partition);
        long end =
            admin
                .listOffsets(Map.of(partition, OffsetSpec.latest()))
                .partitionResult(partition)
                .get()
                .offset();
        // The last offset may be the end of the relay's transaction, which no consumer is given.
        lag += Math.max(0, end - (at == null ? 0 : at.offset()) - 1);
      }
      return lag;
    }
  }

  private static Result replay(LocalStack infra, String... options) {
    CommandLine commandLine =
        CommandLines.of(
            new PayrelayCommand(OutboxStream.environment(infra, DatabaseUsers.OPERATOR, Map.of())));
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    commandLine.setOut(new PrintWriter(out));
    commandLine.setErr(new PrintWriter(err));
    List<String> arguments = new ArrayList<>();
    arguments.addAll(
        List.of("replay", "--topic", Topic.CHARGE_REQUESTS, "--group", GROUP, "--to-earliest"));
    arguments.addAll(List.of(options));
    return new Result(
        commandLine.execute(arguments.toArray(String[]::new)), out.toString(), err.toString());
  }
}
