package io.payrelay.relay;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.Topic;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;

/**
 * Makes the records of redriven events and sends each together with the note that resolves its dead
 * letter. One process at a time: its transactional id fences whoever was at it before. Belongs to
 * one thread.
 */
final class DeadLetterSender {

  private static final String TRANSACTIONAL_ID = "payrelay-dead-letters";
  private static final int TIMEOUT_MS = 30_000;
  private static final Duration CLOSE_LIMIT = Duration.ofSeconds(5);

  private final KafkaConfig kafka;
  private final EventCatalogue catalogue;
  private final Framing framing;
  private final InstantSource clock;
  private @Nullable RecordFactory factory;

  /** The record that would be sent, or why there is none. */
  record Planned(@Nullable ProducerRecord<byte[], byte[]> record, String sentence) {

    static Planned not(String sentence) {
      return new Planned(null, sentence);
    }
  }

  /** What is written about a resolution. */
  record Marker(
      DeadLetterRecord.Resolution resolution,
      @Nullable String eventId,
      @Nullable String aggregateId) {}

  DeadLetterSender(
      KafkaConfig kafka, EventCatalogue catalogue, FramingConfig framing, InstantSource clock) {
    this.kafka = kafka;
    this.catalogue = catalogue;
    this.framing = new Framing(framing, catalogue);
    this.clock = clock;
  }

  /**
   * What to send for a dead letter.
   *
   * @param record as it is on the topic; null: Kafka does not have it any more
   * @param rows of the outbox with its event id
   */
  Planned plan(
      DeadLetter letter, @Nullable ConsumerRecord<byte[], byte[]> record, List<OutboxRow> rows) {
    if (letter.source().equals(DeadLetterRecord.GAP)) {
      return Planned.not(
          "cannot be redriven: it says what Kafka has lost; discard it when it is dealt with");
    }
    if (letter.source().equals(DeadLetterRecord.CHARGE_WORKER)
        && record != null
        && record.value() != null
        && !"true".equals(DeadLetterRecord.text(record.headers(), "payload_truncated"))) {
      return original(letter, record);
    }
    if (letter.eventId() == null
        || letter.source().equals(DeadLetterRecord.OTHER)
        || rows.isEmpty()) {
      return Planned.not(
          "cannot be redriven: no outbox row has its event id; discard it when it is dealt with");
    }
    List<OutboxRow> matching =
        rows.stream().filter(row -> row.aggregateId().equals(letter.aggregateId())).toList();
    if (matching.size() != 1) {
      return Planned.not(
          "cannot be redriven: %d outbox rows have its event id and aggregate"
              .formatted(matching.size()));
    }
    RecordFactory.Outgoing outgoing = factory().of(matching.get(0), clock.millis());
    if (outgoing.deadLetter()) {
      return Planned.not(
          "would be a dead letter again: "
              + DeadLetterRecord.text(outgoing.record().headers(), "reason"));
    }
    outgoing.record().headers().add("redriven", letter.id().getBytes(UTF_8));
    return new Planned(outgoing.record(), "");
  }

  /** The bytes as the charge worker met them; only to a topic that events go to. */
  private Planned original(DeadLetter letter, ConsumerRecord<byte[], byte[]> record) {
    String topic = letter.originalTopic();
    if (topic == null || catalogue.all().stream().noneMatch(type -> type.topic().equals(topic))) {
      return Planned.not("cannot be redriven: no event type goes to topic " + topic);
    }
    RecordHeaders headers = new RecordHeaders(record.headers().toArray());
    DeadLetterRecord.OWN_HEADERS.forEach(headers::remove);
    headers.add("redriven", letter.id().getBytes(UTF_8));
    return new Planned(
        new ProducerRecord<>(topic, null, clock.millis(), record.key(), record.value(), headers),
        "");
  }

  /** Fences whoever was redriving before. */
  Session open() {
    // Known before, since the largest record is a property of the producer.
    int largest = factory().largestRecordBytes();
    Map<String, Object> properties = kafka.clientProperties(TRANSACTIONAL_ID);
    properties.put(ProducerConfig.TRANSACTIONAL_ID_CONFIG, TRANSACTIONAL_ID);
    properties.put(ProducerConfig.TRANSACTION_TIMEOUT_CONFIG, TIMEOUT_MS);
    properties.put(ProducerConfig.ACKS_CONFIG, "all");
    properties.put(ProducerConfig.COMPRESSION_TYPE_CONFIG, "lz4");
    properties.put(ProducerConfig.MAX_REQUEST_SIZE_CONFIG, largest);
    properties.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, TIMEOUT_MS);
    properties.put(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, TIMEOUT_MS);
    properties.put(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, TIMEOUT_MS / 3);
    KafkaProducer<byte[], byte[]> producer =
        new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer());
    try {
      producer.initTransactions();
    } catch (KafkaException e) {
      producer.close(Duration.ZERO);
      throw e;
    }
    return new Session(producer);
  }

  private RecordFactory factory() {
    RecordFactory made = factory;
    if (made == null) {
      List<Topic> topics = new ArrayList<>(Topic.all());
      topics.addAll(catalogue.ownTopics());
      try (Admin admin = Admin.create(kafka.clientProperties("payrelay-dead-letters-admin"))) {
        Map<String, Integer> limits =
            Topics.recordBytesMax(admin, topics.stream().map(Topic::name).toList());
        made = new RecordFactory(framing.codec(), limits, Set.of());
      }
      factory = made;
    }
    return made;
  }

  /** One turn at redriving. */
  static final class Session implements AutoCloseable {

    private final KafkaProducer<byte[], byte[]> producer;

    private Session(KafkaProducer<byte[], byte[]> producer) {
      this.producer = producer;
    }

    /** Event, if there is one, and marker in one transaction: both or neither, and once. */
    void send(@Nullable ProducerRecord<byte[], byte[]> event, Marker marker) {
      try {
        producer.beginTransaction();
        if (event != null) {
          var unused = producer.send(event);
        }
        var unused =
            producer.send(
                DeadLetterRecord.marker(
                    Topic.DEAD_LETTER,
                    marker.resolution(),
                    marker.eventId(),
                    marker.aggregateId()));
        producer.commitTransaction();
      } catch (ProducerFencedException | InvalidProducerEpochException e) {
        throw new PayrelayException(
            Category.RETRIABLE,
            "Somebody else has begun to redrive or discard dead letters: look at `payrelay dead-letters list`, then run it again",
            e);
      } catch (KafkaException e) {
        throw new PayrelayException(
            Category.RETRIABLE,
            "Kafka did not take dead letter %d's event (%s): what came before it is done, run it again"
                .formatted(marker.resolution().offset(), e.getMessage()),
            e);
      }
    }

    @Override
    public void close() {
      producer.close(CLOSE_LIMIT);
    }
  }
}
