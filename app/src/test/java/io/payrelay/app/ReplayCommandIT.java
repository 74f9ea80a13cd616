package io.payrelay.app;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.localstack.TestDatabase;
import io.payrelay.localstack.TestInfra;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.schemas.EncodingException;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.EventCodec;
import io.payrelay.schemas.Topic;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.awaitility.Awaitility;
import org.jdbi.v3.core.Jdbi;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import picocli.CommandLine;

/** {@code payrelay replay} as an operator with the least rights. */
@Timeout(120)
final class ReplayCommandIT {

  private static final String NAME = "replay_" + System.nanoTime();

  /** No other test of this module writes there. */
  private static final TopicPartition PARTITION = new TopicPartition(Topic.CHARGE_REQUESTS, 11);

  private static final Map<String, String> OPERATOR = new HashMap<>();
  private static TestDatabase database;
  private static KafkaConfig kafka;
  private static long first;

  private record Result(int exitCode, String out, String err) {}

  @BeforeAll
  static void writeOneRecordOfEachKind() throws Exception {
    database = TestInfra.shared().newDatabase();
    kafka = new KafkaConfig(TestInfra.shared().bootstrapServers(), Map.of());
    Map<String, String> owner = new HashMap<>();
    owner.put("PAYRELAY_DATABASE_URL", database.jdbcUrl());
    owner.put("PAYRELAY_DATABASE_USER", database.user());
    owner.put("PAYRELAY_DATABASE_PASSWORD", database.password());
    owner.put("PAYRELAY_KAFKA_BOOTSTRAP_SERVERS", kafka.bootstrapServers());
    owner.put("PAYRELAY_RELAY_SLOT_NAME", NAME);
    Parts.migrate(owner);
    owner()
        .useHandle(
            handle -> {
              handle.execute(
                  "CREATE ROLE %s LOGIN PASSWORD 'any' IN ROLE payrelay_operator".formatted(NAME));
              for (String id : List.of("replay_new", "replay_open", "replay_done")) {
                handle.execute(
                    "SELECT payrelay.request_payment(?, 'shop', ?, 'simulator', 1250, 'USD')",
                    id,
                    id);
              }
              handle.execute(
                  """
                  INSERT INTO payrelay.operation (payment_id, kind, provider, idempotency_key, request_body,
                    request_digest)
                  VALUES ('replay_open', 'CHARGE', 'simulator', 'replay_open', '', sha256(''))
                  """);
              handle.execute(
                  """
                  UPDATE payrelay.payment SET status = 'FAILED', failure_code = 'declined', version = 2
                  WHERE payment_id = 'replay_done'
                  """);
            });
    OPERATOR.putAll(owner);
    OPERATOR.put("PAYRELAY_DATABASE_USER", NAME);
    OPERATOR.put("PAYRELAY_DATABASE_PASSWORD", "any");
    first =
        produce(
            PARTITION, "replay_new", "replay_new", "replay_open", "replay_done", "replay_none", "");
    commit(first + 6);
  }

  @AfterAll
  static void dropSlot() {
    owner().useHandle(handle -> handle.execute("SELECT pg_drop_replication_slot(?)", NAME));
  }

  @Test
  void saysWhatEachRecordWouldDoAndChangesNothingUntilItIsToldTo() throws Exception {
    commit(first + 6);

    Result plan = replay("--to-offset", Long.toString(first), "--partition", "11");

    assertThat(plan.exitCode()).as(plan.err()).isZero();
    assertThat(plan.out())
        .contains(
            "would read 6 records of payrelay.charge-requests again",
            "1 of payments that have their end: nothing happens",
            "2 of payments that are being worked on: only asked about",
            "1 of payments for which nothing was done yet: THEY WOULD BE CHARGED",
            "1 of payments that are not there",
            "1 that cannot be read",
            "Nothing was changed");
    assertThat(committed()).isEqualTo(first + 6);

    Result done = replay("--to-offset", Long.toString(first + 2), "--partition", "11", "--execute");

    assertThat(done.exitCode()).as(done.err()).isZero();
    assertThat(done.out()).contains("The offsets of 1 partitions are set", "reads 4 records again");
    assertThat(committed()).isEqualTo(first + 2);
  }

  @Test
  void saysWhatEachRefundRequestWouldDo() throws Exception {
    owner()
        .useHandle(
            handle -> {
              handle.execute(
                  """
                  INSERT INTO payrelay.ledger_account VALUES ('pr', 'PROVIDER_RECEIVABLE', 'simulator', 'USD'),
                    ('cp', 'CUSTOMER_PAYMENTS', 'simulator', 'USD');
                  WITH p AS (INSERT INTO payrelay.ledger_posting (business_key, kind, payment_id, event_at)
                    VALUES ('capture:simulator:ch_1', 'CAPTURE', 'replay_open', now()) RETURNING posting_id)
                  INSERT INTO payrelay.ledger_entry SELECT posting_id, 1, 'pr', 'DEBIT', 1250, 'USD' FROM p
                  UNION ALL SELECT posting_id, 2, 'cp', 'CREDIT', 1250, 'USD' FROM p
                  """);
              for (String id : List.of("refund_new", "refund_open", "refund_done")) {
                handle.execute("SELECT payrelay.request_refund(?, 'replay_open', 100, 'USD')", id);
              }
              handle.execute(
                  """
                  INSERT INTO payrelay.operation (payment_id, refund_id, kind, provider, idempotency_key,
                    request_body, request_digest)
                  VALUES ('replay_open', 'refund_open', 'REFUND', 'simulator', 'refund_open', '', sha256(''))
                  """);
              handle.execute(
                  """
                  UPDATE payrelay.refund SET status = 'FAILED', failure_code = 'x', version = 2
                  WHERE refund_id = 'refund_done'
                  """);
            });
    TopicPartition refunds = new TopicPartition(Topic.REFUND_REQUESTS, PARTITION.partition());
    long from =
        produce(
            refunds, "refund_new", "refund_new", "refund_open", "refund_done", "refund_none", "");
    commit(refunds, from + 6);

    Result plan =
        run(
            Topic.REFUND_REQUESTS,
            NAME,
            List.of("--to-offset", Long.toString(from), "--partition", "11"));

    assertThat(plan.exitCode()).as(plan.err()).isZero();
    assertThat(plan.out())
        .contains(
            "would read 6 records of payrelay.refund-requests again",
            "1 of refunds that have their end: nothing happens",
            "2 of refunds that are being worked on: only asked about",
            "1 of refunds for which nothing was done yet: THE MONEY WOULD BE GIVEN BACK",
            "1 of refunds that are not there",
            "1 that cannot be read");
  }

  @Test
  void aTimeBeforeTheRecordsReadsThemAgainAndOneAfterThemReadsNothing() throws Exception {
    commit(first + 6);

    assertThat(replay("--to-datetime", "2020-01-01T00:00:00Z", "--partition", "11").out())
        .contains("1 that cannot be read");
    String after = Instant.now().toString();
    assertThat(replay("--to-datetime", after, "--partition", "11").out())
        .contains("would read 0 records");
  }

  @Test
  void refusesWhatDoesNotFitWithASentence() {
    List<String> earliest = List.of("--to-earliest");
    assertRefused(1, "Topic no.such.topic does not exist", run("no.such.topic", NAME, earliest));
    assertRefused(1, "Group nobody does not exist", run(Topic.CHARGE_REQUESTS, "nobody", earliest));
    assertRefused(
        1,
        "has committed no offset of payrelay.refund-status",
        run(Topic.REFUND_STATUS, NAME, earliest));
    assertRefused(
        1,
        "Topic payrelay.charge-requests has no partition 99",
        replay("--to-earliest", "--partition", "99"));
    assertRefused(
        1, "Offset 999999999 is not between the oldest record", replay("--to-offset", "999999999"));
    assertRefused(2, "lies in the future", replay("--to-datetime", "2999-01-01T00:00:00Z"));
    assertThat(replay().exitCode()).isEqualTo(2);
    assertThat(replay("--to-earliest", "--to-offset", "1").exitCode()).isEqualTo(2);
  }

  @Test
  void refusesWhileTheGroupHasMembersAndNamesThem() throws Exception {
    String group = NAME + "_active";
    Map<String, Object> properties = new HashMap<>(kafka.consumerProperties("worker-seven"));
    properties.put(ConsumerConfig.GROUP_ID_CONFIG, group);
    properties.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
    try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties)) {
      consumer.subscribe(List.of(Topic.CHARGE_REQUESTS));
      Awaitility.await()
          .until(
              () -> {
                consumer.poll(Duration.ofMillis(100));
                return consumer.assignment().contains(PARTITION);
              });
      consumer.commitSync(Map.of(PARTITION, new OffsetAndMetadata(first + 1)));

      Result result = run(Topic.CHARGE_REQUESTS, group, List.of("--to-earliest", "--execute"));

      assertThat(result.exitCode()).isEqualTo(1);
      assertThat(result.err())
          .contains("Group %s has members: worker-seven at 127.0.0.1".formatted(group));
    }
  }

  private static void assertRefused(int exitCode, String sentence, Result result) {
    assertThat(result.err()).contains(sentence);
    assertThat(result.exitCode()).isEqualTo(exitCode);
  }

  private static Result replay(String... options) {
    return run(Topic.CHARGE_REQUESTS, NAME, List.of(options));
  }

  private static Result run(String topic, String group, List<String> options) {
    CommandLine commandLine = CommandLines.of(new PayrelayCommand(OPERATOR));
    StringWriter out = new StringWriter();
    StringWriter err = new StringWriter();
    commandLine.setOut(new PrintWriter(out));
    commandLine.setErr(new PrintWriter(err));
    List<String> arguments = new ArrayList<>();
    arguments.addAll(List.of("replay", "--topic", topic, "--group", group));
    arguments.addAll(options);
    int exitCode = commandLine.execute(arguments.toArray(String[]::new));
    return new Result(exitCode, out.toString(), err.toString());
  }

  /** Writes a request for each id, garbage for an empty one; returns the first offset. */
  private static long produce(TopicPartition to, String... ids) throws Exception {
    EventCodec codec = new EventCodec(EventCatalogue.builtIn());
    try (KafkaProducer<byte[], byte[]> producer =
        new KafkaProducer<>(
            kafka.clientProperties(NAME), new ByteArraySerializer(), new ByteArraySerializer())) {
      long offset = -1;
      for (String id : ids) {
        long at =
            producer
                .send(
                    new ProducerRecord<>(
                        to.topic(),
                        to.partition(),
                        id.getBytes(UTF_8),
                        id.isEmpty() ? "no event".getBytes(UTF_8) : event(codec, to.topic(), id)))
                .get()
                .offset();
        offset = offset < 0 ? at : offset;
      }
      return offset;
    }
  }

  private static byte[] event(EventCodec codec, String topic, String id) throws EncodingException {
    if (topic.equals(Topic.REFUND_REQUESTS)) {
      return codec.encode(
          "RefundRequested",
          """
          {"refund_id": "%s", "payment_id": "replay_open", "amount_minor": 100, "currency": "USD"}
          """
              .formatted(id));
    }
    return codec.encode(
        "ChargeRequested",
        """
        {"payment_id": "%1$s", "merchant": "shop", "merchant_order_id": "%1$s", "provider": "simulator",
         "amount_minor": 1250, "currency": "USD"}
        """
            .formatted(id));
  }

  private static void commit(long offset) throws Exception {
    commit(PARTITION, offset);
  }

  private static void commit(TopicPartition partition, long offset) throws Exception {
    try (Admin admin = Admin.create(kafka.clientProperties(NAME))) {
      admin
          .alterConsumerGroupOffsets(NAME, Map.of(partition, new OffsetAndMetadata(offset)))
          .all()
          .get();
    }
  }

  private static long committed() throws Exception {
    try (Admin admin = Admin.create(kafka.clientProperties(NAME))) {
      return admin
          .listConsumerGroupOffsets(NAME)
          .partitionsToOffsetAndMetadata()
          .get()
          .get(PARTITION)
          .offset();
    }
  }

  private static Jdbi owner() {
    return Jdbi.create(database.jdbcUrl(), database.user(), database.password());
  }
}
