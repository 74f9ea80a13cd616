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
import io.payrelay.simulator.SimulatedRefund;
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
import java.time.Instant;
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

/** An operator replays every charge and refund request that there was, after a storm. */
final class ReplaySystemTest {

  private static final int PAYMENTS = 100;
  private static final int REFUNDS = 20;
  private static final String GROUP = "payrelay-charge-worker";
  private static final Duration SETTLE_DELAY = Duration.ofMillis(500);
  private static final Duration POLL = Duration.ofMillis(100);
  private static final Duration LIMIT = Duration.ofMinutes(2);

  private record Result(int exitCode, String out, String err) {}

  @Test
  @Timeout(300)
  void replayingEverythingAfterAStormMovesNoMoneyAndChangesNoStatus() throws Exception {
    try (LocalStack infra = LocalStack.builder().start();
        ProviderSimulator simulator =
            ProviderSimulator.start(
                SimulatorConfig.builder()
                    .seed(5)
                    .profile(FaultProfile.STORM)
                    .pendingSettleDelay(SETTLE_DELAY)
                    .build())) {
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
          StatusTopic topic = new StatusTopic(kafka);
          StatusTopic refundTopic = StatusTopic.ofRefunds(kafka)) {
        simulator.webhookTarget(
            URI.create(
                "http://127.0.0.1:"
                    + Child.value(ingest.ready(), " port")
                    + "/webhooks/simulator"));
        assertThat(PartRunner.awaitReady(relay, reason -> {})).isTrue();
        try (Part first = Parts.chargeWorker(worker)) {
          assertThat(PartRunner.awaitReady(first, reason -> {})).isTrue();
          new Shop(infra.postgres().jdbcUrl(), 5).order(PAYMENTS);
          awaitRest(invariants, topic, refundTopic, simulator);
          assertThat(askForRefunds(owner)).isEqualTo(REFUNDS);
          awaitRest(invariants, topic, refundTopic, simulator);
          await().atMost(LIMIT).until(() -> lag(kafka) == 0);
          Result active = replay(infra, Topic.CHARGE_REQUESTS, "--execute");
          assertThat(active.exitCode()).isEqualTo(1);
          assertThat(active.err()).contains("Group " + GROUP + " has members: charge-worker-");
        }
        List<SimulatedCharge> charges = simulator.charges();
        List<SimulatedRefund> refunds = simulator.refunds();
        assertThat(refunds).hasSizeGreaterThan(REFUNDS / 2);
        long refundCalls = simulator.stats().refundCalls();
        long changes = statusChanges(owner, "PaymentStatusChanged");
        long refundChanges = statusChanges(owner, "RefundStatusChanged");
        assertThat(refundChanges).isGreaterThanOrEqualTo(REFUNDS);
        long events = topic.events();
        long refundEvents = refundTopic.events();

        plansOnly(infra, Topic.CHARGE_REQUESTS, PAYMENTS, "payments");
        plansOnly(infra, Topic.REFUND_REQUESTS, REFUNDS, "refunds");
        assertThat(lag(kafka)).isZero();
        for (String requests : List.of(Topic.CHARGE_REQUESTS, Topic.REFUND_REQUESTS)) {
          Result done = replay(infra, requests, "--execute");
          assertThat(done.exitCode()).as(done.err()).isZero();
        }
        assertThat(lag(kafka, Topic.CHARGE_REQUESTS)).isGreaterThanOrEqualTo(PAYMENTS);
        assertThat(lag(kafka, Topic.REFUND_REQUESTS)).isGreaterThanOrEqualTo(REFUNDS);
        try (Part second = Parts.chargeWorker(worker)) {
          assertThat(PartRunner.awaitReady(second, reason -> {})).isTrue();
          await().atMost(LIMIT).until(() -> lag(kafka) == 0);
        }

        awaitRest(invariants, topic, refundTopic, simulator);
        assertThat(simulator.charges()).isEqualTo(charges);
        assertThat(simulator.refunds()).isEqualTo(refunds);
        assertThat(simulator.stats().refundCalls()).isEqualTo(refundCalls);
        assertThat(statusChanges(owner, "PaymentStatusChanged")).isEqualTo(changes);
        assertThat(statusChanges(owner, "RefundStatusChanged")).isEqualTo(refundChanges);
        assertThat(topic.events()).isEqualTo(events);
        assertThat(refundTopic.events()).isEqualTo(refundEvents);
        assertThat(invariants.check(simulator, topic, refundTopic, Duration.ZERO).violations())
            .isEmpty();
      }
    }
  }

  /** Everything that was asked for has its end and was told, and no webhook may change it. */
  private static void awaitRest(
      Invariants invariants,
      StatusTopic topic,
      StatusTopic refundTopic,
      ProviderSimulator simulator) {
    await()
        .atMost(LIMIT)
        .until(
            () ->
                settled(simulator)
                    && invariants.atRest(topic, refundTopic, POLL)
                    && simulator.stats().webhooksOnTheirWay() == 0);
  }

  /** No refund fails any more that had succeeded. */
  private static boolean settled(ProviderSimulator simulator) {
    Instant before = Instant.now().minus(SETTLE_DELAY.multipliedBy(3));
    return simulator.refunds().stream().allMatch(one -> one.createdAt().isBefore(before));
  }

  /** Asks for the half of some payments, as an upstream does; returns how many. */
  private static long askForRefunds(Jdbi owner) {
    return owner.inTransaction(
        tx ->
            (long)
                tx.createQuery(
                        """
                        SELECT payrelay.request_refund('ref' || substr(payment_id, 4), payment_id,
                          (amount_minor + 1) / 2, currency)
                        FROM (SELECT * FROM payrelay.payment WHERE status = 'SUCCEEDED'
                          ORDER BY payment_id LIMIT :count) paid
                        """)
                    .bind("count", REFUNDS)
                    .mapTo(String.class)
                    .list()
                    .size());
  }

  private static void plansOnly(LocalStack infra, String topic, int records, String what) {
    Result plan = replay(infra, topic);
    assertThat(plan.exitCode()).as(plan.err()).isZero();
    assertThat(plan.out())
        .contains(
            "would read " + records + " records of " + topic + " again",
            records + " of " + what + " that have their end: nothing happens",
            "Nothing was changed");
  }

  private static long statusChanges(Jdbi owner, String event) {
    return owner.withHandle(
        handle ->
            handle
                .createQuery("SELECT count(*) FROM payrelay.outbox WHERE event_type = :event")
                .bind("event", event)
                .mapTo(Long.class)
                .one());
  }

  private static long lag(KafkaConfig kafka) throws Exception {
    return lag(kafka, Topic.CHARGE_REQUESTS) + lag(kafka, Topic.REFUND_REQUESTS);
  }

  /** Offsets of the topic that the group has not committed. */
  private static long lag(KafkaConfig kafka, String topic) throws Exception {
    try (Admin admin = Admin.create(kafka.clientProperties("replay-test"))) {
      Map<TopicPartition, OffsetAndMetadata> committed =
          admin.listConsumerGroupOffsets(GROUP).partitionsToOffsetAndMetadata().get();
      long lag = 0;
      for (int i = 0; i < 12; i++) {
        TopicPartition partition = new TopicPartition(topic, i);
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

  private static Result replay(LocalStack infra, String topic, String... options) {
    CommandLine commandLine =
        CommandLines.of(
            new PayrelayCommand(OutboxStream.environment(infra, DatabaseUsers.OPERATOR, Map.of())));
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    commandLine.setOut(new PrintWriter(out));
    commandLine.setErr(new PrintWriter(err));
    List<String> arguments = new ArrayList<>();
    arguments.addAll(List.of("replay", "--topic", topic, "--group", GROUP, "--to-earliest"));
    arguments.addAll(List.of(options));
    return new Result(
        commandLine.execute(arguments.toArray(String[]::new)), out.toString(), err.toString());
  }
}
