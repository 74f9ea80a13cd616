package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.localstack.LocalKafka;
import io.payrelay.localstack.TestDatabase;
import io.payrelay.localstack.TestInfra;
import io.payrelay.schemas.Topic;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.kafka.clients.admin.AbortTransactionSpec;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What brokers of 4.x leave behind where a partition had no leader for a moment (KAFKA-20734). */
@Timeout(120)
class HangingTransactionsIT {

  private static final Duration LIMIT = Duration.ofSeconds(60);
  private static final TopicPartition EVENTS = new TopicPartition(Topic.CHARGE_REQUESTS, 11);
  private static final String REFUSAL = "Kafka left a transaction of this relay ended in part only";

  private static LocalKafka kafka;

  @BeforeAll
  static void startKafka() {
    kafka =
        LocalKafka.builder().property("transaction.partition.verification.enable", "false").start();
  }

  @AfterAll
  static void stopKafka() {
    kafka.close();
  }

  @Test
  void transactionThatNobodySawIsAbortedAndTheRowsComeOnce() throws Exception {
    try (RelayFixture fixture = fixture();
        OutboxOracle oracle = fixture.oracle()) {
      relaySomeRows(fixture, oracle);
      try (OldRelay old = new OldRelay(fixture)) {
        old.hang(position(fixture));
        old.hang(EVENTS);
      }

      assertHealed(fixture, oracle);
    }
  }

  @Test
  void rowsOfAnAbortedTransactionAreAbortedToo() throws Exception {
    try (RelayFixture fixture = fixture();
        OutboxOracle oracle = fixture.oracle()) {
      relaySomeRows(fixture, oracle);
      try (OldRelay old = new OldRelay(fixture)) {
        old.producer.beginTransaction();
        old.send(position(fixture));
        old.hang(EVENTS);
        old.producer.abortTransaction();
      }

      assertHealed(fixture, oracle);
    }
  }

  @Test
  void positionThatHangsBesideCommittedRowsIsRefused() throws Exception {
    try (RelayFixture fixture = fixture()) {
      try (OldRelay old = new OldRelay(fixture)) {
        old.producer.beginTransaction();
        old.send(new TopicPartition(Topic.REFUND_REQUESTS, 3));
        old.hang(position(fixture));
        old.producer.commitTransaction();
      }

      assertThat(RelayFixture.refusal(fixture.start()))
          .startsWith(REFUSAL)
          .contains(position(fixture) + " from offset", "payrelay relay recover");
      abort(fixture, position(fixture));
    }
  }

  @Test
  void rowsThatHangBesideACommittedPositionAreRefused() throws Exception {
    try (RelayFixture fixture = fixture()) {
      try (OldRelay old = new OldRelay(fixture)) {
        old.producer.beginTransaction();
        old.sendPosition();
        old.hang(EVENTS);
        old.producer.commitTransaction();
      }

      assertThat(RelayFixture.refusal(fixture.start())).startsWith(REFUSAL).contains("" + EVENTS);
      abort(fixture, EVENTS);
      // Whoever restarts it now must not stream past the rows that were aborted.
      assertThat(RelayFixture.refusal(fixture.start())).contains("relay recover --execute");
    }
  }

  private static RelayFixture fixture() throws Exception {
    TestDatabase database = TestInfra.shared().newDatabase();
    return new RelayFixture(database.jdbcUrl(), database.user(), kafka.bootstrapServers(), Map.of())
        .prepared();
  }

  private static void relaySomeRows(RelayFixture fixture, OutboxOracle oracle) throws Exception {
    Relay relay = fixture.startActive();
    fixture.insertCommitted(3, 2);
    assertThat(oracle.await(LIMIT).clean()).isTrue();
    relay.close();
  }

  private static void assertHealed(RelayFixture fixture, OutboxOracle oracle) throws Exception {
    Relay relay = fixture.startActive();
    fixture.insertCommitted(20, 5);

    OutboxOracle.Verdict verdict = oracle.await(LIMIT);

    assertThat(verdict.rows()).isEqualTo(106);
    assertThat(verdict.clean()).as("%s", verdict).isTrue();
    assertThat(relay.ended()).isNotDone();
  }

  /** What the refusal asks for, so that the next test finds a clean partition. */
  private static void abort(RelayFixture fixture, TopicPartition partition) throws Exception {
    try (Admin admin = Admin.create(fixture.kafka().clientProperties("test"))) {
      for (ProducerState state :
          admin
              .describeProducers(List.of(partition))
              .partitionResult(partition)
              .get()
              .activeProducers()) {
        if (state.currentTransactionStartOffset().isPresent()) {
          admin
              .abortTransaction(
                  new AbortTransactionSpec(
                      partition, state.producerId(), (short) state.producerEpoch(), 0))
              .all()
              .get();
        }
      }
    }
  }

  private static TopicPartition position(RelayFixture fixture) {
    return new TopicPartition(Topic.relayPosition(fixture.config.slotName()).name(), 0);
  }

  /** A relay's producer, and what its broker lost. */
  private static final class OldRelay implements AutoCloseable {

    private final RelayFixture fixture;
    private final KafkaProducer<byte[], byte[]> producer;
    private final TransactionDescription id;

    OldRelay(RelayFixture fixture) throws Exception {
      this.fixture = fixture;
      this.producer =
          RelayProducer.make(fixture.kafka(), fixture.config, Topics.RECORD_BYTES_MAX_DEFAULT);
      producer.initTransactions();
      String transactionalId = fixture.config.transactionalId();
      try (Admin admin = Admin.create(fixture.kafka().clientProperties("test"))) {
        id =
            admin.describeTransactions(List.of(transactionalId)).description(transactionalId).get();
      }
    }

    void hang(TopicPartition partition) throws Exception {
      RawProduce.hang(
          fixture.bootstrapServers,
          fixture.config.transactionalId(),
          id.producerId(),
          (short) id.producerEpoch(),
          partition);
    }

    void send(TopicPartition partition) throws Exception {
      producer
          .send(
              new ProducerRecord<>(
                  partition.topic(), partition.partition(), new byte[] {1}, new byte[] {2}))
          .get();
    }

    /** Where it is already, once more. */
    void sendPosition() throws Exception {
      PositionStore store = new PositionStore(fixture.kafka(), fixture.config.slotName());
      try (Admin admin = Admin.create(fixture.kafka().clientProperties("test"))) {
        Position position = Objects.requireNonNull(store.read(admin, Duration.ofSeconds(20)));
        producer.send(store.record(position)).get();
      }
    }

    @Override
    public void close() {
      producer.close(Duration.ofSeconds(5));
    }
  }
}
