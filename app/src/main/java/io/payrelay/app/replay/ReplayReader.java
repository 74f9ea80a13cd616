package io.payrelay.app.replay;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.kafka.HeaderValues;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.schemas.EncodingException;
import io.payrelay.schemas.EventCodec;
import io.payrelay.schemas.Topic;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetOutOfRangeException;
import org.apache.kafka.common.TopicPartition;
import org.jdbi.v3.core.Jdbi;
import org.jspecify.annotations.Nullable;

/**
 * Reads ranges of partitions once, as the charge worker would, and asks the database what each
 * record would do. Keeps counts and one portion of ids, however many records there are.
 */
final class ReplayReader {

  private static final int PORTION = 500;
  private static final Duration POLL = Duration.ofMillis(200);
  private static final Duration STALL_LIMIT = Duration.ofSeconds(30);

  /** What can be the id of a payment or a refund: anything else is not asked for. */
  private static final Pattern ID = Pattern.compile("[0-9A-Za-z_]{6,32}");

  private final KafkaConfig kafka;
  private final Jdbi jdbi;
  private final EventCodec codec;
  private final Map<TopicPartition, Map<Effect, Long>> effects = new HashMap<>();
  private final List<Asked> portion = new ArrayList<>(PORTION);

  /** From the first offset to the last one, which is not among them. */
  record Range(long from, long to) {}

  /** What is asked of the database about the records of a topic. */
  private enum Subject {
    CHARGES(
        "ChargeRequested",
        "payment_id",
        """
        SELECT p.payment_id,
          CASE WHEN p.status IN ('SUCCEEDED', 'FAILED') THEN 'TERMINAL'
            WHEN p.status = 'CREATED' AND NOT EXISTS (SELECT FROM payrelay.operation o
              WHERE o.payment_id = p.payment_id AND o.kind = 'CHARGE') THEN 'NEW'
            ELSE 'UNRESOLVED' END
        FROM payrelay.payment p WHERE p.payment_id = ANY (:ids)
        """),
    REFUNDS(
        "RefundRequested",
        "refund_id",
        """
        SELECT r.refund_id,
          CASE WHEN r.status IN ('SUCCEEDED', 'FAILED', 'RETURNED') THEN 'TERMINAL'
            WHEN r.status = 'REQUESTED' AND NOT EXISTS (SELECT FROM payrelay.operation o
              WHERE o.refund_id = r.refund_id) THEN 'NEW'
            ELSE 'UNRESOLVED' END
        FROM payrelay.refund r WHERE r.refund_id = ANY (:ids)
        """);

    private final String event;
    private final String idField;
    private final String sql;

    Subject(String event, String idField, String sql) {
      this.event = event;
      this.idField = idField;
      this.sql = sql;
    }

    /** Null: of a topic that the charge worker does not read. */
    static @Nullable Subject of(String topic) {
      return switch (topic) {
        case Topic.CHARGE_REQUESTS -> CHARGES;
        case Topic.REFUND_REQUESTS -> REFUNDS;
        default -> null;
      };
    }
  }

  private record Asked(TopicPartition partition, Subject subject, String id) {}

  ReplayReader(KafkaConfig kafka, Jdbi jdbi, EventCodec codec) {
    this.kafka = kafka;
    this.jdbi = jdbi;
    this.codec = codec;
  }

  /** How many committed records of each range do what. */
  Map<TopicPartition, Map<Effect, Long>> read(Map<TopicPartition, Range> ranges) {
    Map<TopicPartition, Range> open = new HashMap<>(ranges);
    open.values().removeIf(range -> range.from() >= range.to());
    if (open.isEmpty()) {
      return effects;
    }
    Map<String, Object> properties = kafka.consumerProperties("payrelay-replay");
    // What Kafka has deleted meanwhile is said, not skipped.
    properties.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "none");
    try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties)) {
      consumer.assign(open.keySet());
      open.forEach((partition, range) -> consumer.seek(partition, range.from()));
      drain(consumer, open);
    } catch (OffsetOutOfRangeException e) {
      throw new PayrelayException(
          Category.RETRIABLE, "Kafka has deleted records of the range meanwhile: run it again", e);
    }
    askDatabase();
    return effects;
  }

  private void drain(KafkaConsumer<byte[], byte[]> consumer, Map<TopicPartition, Range> open) {
    long lastNs = System.nanoTime();
    long lastSum = -1;
    while (!open.isEmpty()) {
      for (ConsumerRecord<byte[], byte[]> source : consumer.poll(POLL)) {
        TopicPartition partition = new TopicPartition(source.topic(), source.partition());
        Range range = open.get(partition);
        if (range != null && source.offset() < range.to()) {
          look(partition, source);
        }
      }
      // The position also passes what has no record, such as the ends of transactions.
      boolean ended =
          open.entrySet().removeIf(one -> consumer.position(one.getKey()) >= one.getValue().to());
      if (ended) {
        consumer.assign(open.keySet());
      }
      long sum = open.keySet().stream().mapToLong(consumer::position).sum();
      if (ended || sum != lastSum) {
        lastSum = sum;
        lastNs = System.nanoTime();
      } else if (System.nanoTime() - lastNs > STALL_LIMIT.toNanos()) {
        throw new PayrelayException(
            Category.RETRIABLE,
            "Kafka gives no more records of %s for %d s: a transaction may hang on it"
                .formatted(open.keySet(), STALL_LIMIT.toSeconds()));
      }
    }
  }

  private void look(TopicPartition partition, ConsumerRecord<byte[], byte[]> source) {
    Subject subject = Subject.of(partition.topic());
    GenericRecord event;
    try {
      if (source.value() == null) {
        count(partition, Effect.UNREADABLE);
        return;
      }
      event =
          codec.decode(source.value(), HeaderValues.last(source.headers(), EventCodec.DATA_SCHEMA));
    } catch (EncodingException e) {
      count(partition, Effect.UNREADABLE);
      return;
    }
    if (subject == null) {
      count(partition, Effect.READABLE);
    } else if (!event.getSchema().getName().equals(subject.event)) {
      count(partition, Effect.UNREADABLE);
    } else {
      String id = event.get(subject.idField).toString();
      if (ID.matcher(id).matches()) {
        portion.add(new Asked(partition, subject, id));
      } else {
        count(partition, Effect.NOT_THERE);
      }
      if (portion.size() == PORTION) {
        askDatabase();
      }
    }
  }

  private void askDatabase() {
    for (Subject subject : Subject.values()) {
      List<Asked> asked = portion.stream().filter(one -> one.subject() == subject).toList();
      if (!asked.isEmpty()) {
        askDatabase(subject, asked);
      }
    }
    portion.clear();
  }

  private void askDatabase(Subject subject, List<Asked> asked) {
    Set<String> ids = new TreeSet<>();
    asked.forEach(one -> ids.add(one.id()));
    Map<String, Effect> known = new HashMap<>();
    jdbi.useHandle(
        handle ->
            handle
                .createQuery(subject.sql)
                .bindArray("ids", String.class, ids)
                .map((row, context) -> Map.entry(row.getString(1), row.getString(2)))
                .forEach(row -> known.put(row.getKey(), Effect.valueOf(row.getValue()))));
    Set<String> sent = new HashSet<>();
    for (Asked one : asked) {
      Effect effect = known.getOrDefault(one.id(), Effect.NOT_THERE);
      // The first record has it sent; the next one finds that done.
      boolean again = effect == Effect.NEW && !sent.add(one.id());
      count(one.partition(), again ? Effect.UNRESOLVED : effect);
    }
  }

  private void count(TopicPartition partition, Effect effect) {
    effects
        .computeIfAbsent(partition, of -> new EnumMap<>(Effect.class))
        .merge(effect, 1L, Long::sum);
  }
}
