package io.payrelay.chargeworker;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.Failures;
import io.payrelay.schemas.EncodingException;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.EventCodec;
import io.payrelay.schemas.Topic;
import java.sql.SQLException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jdbi.v3.core.ConnectionFactory;
import org.jdbi.v3.core.Jdbi;
import org.junit.jupiter.api.Test;

/** The consumer while the database is away; Kafka's own fake stands for Kafka. */
class ChargeConsumerTest {

  private static final TopicPartition PARTITION = new TopicPartition(Topic.CHARGE_REQUESTS, 0);

  private final AtomicBoolean rebalancing = new AtomicBoolean();
  private final MockConsumer<byte[], byte[]> kafka =
      new MockConsumer<>("earliest") {
        @Override
        public synchronized void commitSync(Map<TopicPartition, OffsetAndMetadata> offsets) {
          if (rebalancing.getAndSet(false)) {
            throw new RebalanceInProgressException("not now");
          }
          super.commitSync(offsets);
        }
      };
  private final ConnectionFactory away =
      () -> {
        throw new SQLException("away", "08001");
      };
  private final ChargeConsumer consumer =
      new ChargeConsumer(
          kafka,
          new RecordReader(EventCatalogue.builtIn()),
          new Requests(
              new Acceptance(
                  Jdbi.create(away), List.of(), InstantSource.system(), ChargeFaults.NONE),
              new RefundAcceptance(
                  Jdbi.create(away), List.of(), InstantSource.system(), ChargeFaults.NONE)),
          new DeadLetters(
              () ->
                  new MockProducer<>(
                      true, null, new ByteArraySerializer(), new ByteArraySerializer())),
          new ChargeMetrics(new SimpleMeterRegistry(), List.of()),
          InstantSource.system(),
          Duration.ofSeconds(60),
          () -> {});

  @Test
  void keepsWhatItHasReadAndReadsNoMore() throws EncodingException {
    assign();
    kafka.addRecord(event(0));

    failsRetriably();
    kafka.addRecord(event(1));
    failsRetriably();

    assertThat(kafka.paused()).containsExactly(PARTITION);
    assertThat(kafka.position(PARTITION)).isEqualTo(1);
    assertThat(committed()).isEmpty();
  }

  @Test
  void forgetsWhatBelongsToAnotherNow() throws EncodingException {
    assign();
    kafka.addRecord(event(0));
    failsRetriably();

    consumer.onPartitionsRevoked(List.of(PARTITION));

    assertThat(consumer.runOnce()).isZero();
    assertThat(committed()).contains(new OffsetAndMetadata(0));
  }

  @Test
  void commitsLaterWhatItCouldNotWhileTheGroupRebalanced() {
    assign();
    kafka.addRecord(record(0, "nothing that can be read".getBytes(UTF_8)));
    rebalancing.set(true);

    assertThatThrownBy(consumer::runOnce).isInstanceOf(RebalanceInProgressException.class);
    assertThat(committed()).isEmpty();
    assertThat(consumer.runOnce()).isZero();

    assertThat(committed()).contains(new OffsetAndMetadata(1));
  }

  private void failsRetriably() {
    assertThatThrownBy(consumer::runOnce)
        .satisfies(
            failure -> assertThat(Failures.categoryOf(failure)).isEqualTo(Category.RETRIABLE));
  }

  private Optional<OffsetAndMetadata> committed() {
    return Optional.ofNullable(kafka.committed(Set.of(PARTITION)).get(PARTITION));
  }

  private void assign() {
    kafka.rebalance(List.of(PARTITION));
    kafka.updateBeginningOffsets(Map.of(PARTITION, 0L));
  }

  private static ConsumerRecord<byte[], byte[]> event(long offset) throws EncodingException {
    byte[] value =
        new EventCodec(EventCatalogue.builtIn())
            .encode(
                "ChargeRequested",
                """
                {"payment_id":"payment_1","merchant":"shop","merchant_order_id":"1",
                "provider":"simulator","amount_minor":1,"currency":"USD","trace_id":null}""");
    return record(offset, value);
  }

  private static ConsumerRecord<byte[], byte[]> record(long offset, byte[] value) {
    RecordHeaders headers = new RecordHeaders();
    headers.add("ce_type", "ChargeRequested".getBytes(UTF_8));
    return new ConsumerRecord<>(
        PARTITION.topic(),
        PARTITION.partition(),
        offset,
        0L,
        TimestampType.CREATE_TIME,
        0,
        value.length,
        new byte[0],
        value,
        headers,
        Optional.empty());
  }
}
