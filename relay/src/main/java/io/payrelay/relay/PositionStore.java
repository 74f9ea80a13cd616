package io.payrelay.relay;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.schemas.Topic;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.IsolationLevel;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;

/**
 * The relay's position in Kafka: the newest record of a compacted topic of one partition, one topic
 * per slot. Safe for any thread.
 */
final class PositionStore {

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String RECOVERING = "recovering";
  private static final Duration POLL = Duration.ofMillis(200);
  private static final Duration MARK_LIMIT = Duration.ofSeconds(30);
  private static final Duration NEWEST_LIMIT = Duration.ofSeconds(60);

  /** Offsets looked at first, from the end; ten times as many each time nothing was found there. */
  private static final long TAIL_FIRST = 200;

  private final KafkaConfig kafka;
  private final String slotName;
  private final TopicPartition partition;

  PositionStore(KafkaConfig kafka, String slotName) {
    this.kafka = kafka;
    this.slotName = slotName;
    this.partition = new TopicPartition(Topic.relayPosition(slotName).name(), 0);
  }

  /** A position, and whether {@code recover} has begun to replace it and has not finished. */
  record Stored(Position position, boolean recovering) {}

  /**
   * Reads the newest committed position, or null where there is none.
   *
   * @throws PayrelayException RETRIABLE where the end was not reached in time, FATAL where a {@code
   *     recover} has not been finished
   */
  @Nullable Position read(Admin admin, Duration limit) {
    Stored stored = readStored(admin, limit);
    if (stored != null && stored.recovering()) {
      throw StartupCheck.refused(
          "A recovery of slot %s was begun and not finished: run `payrelay relay recover --execute` again"
              .formatted(slotName));
    }
    return stored == null ? null : stored.position();
  }

  /**
   * Reads the newest committed position, finished or not, or null where there is none.
   *
   * <p>The end is the high watermark, not the end that read_committed shows: that one lies before a
   * committed record for as long as somebody else's transaction hangs on the partition.
   *
   * @throws PayrelayException RETRIABLE where the end was not reached in time, FATAL where the
   *     newest record is no position
   */
  @Nullable Stored readStored(Admin admin, Duration limit) {
    return readStored(
        admin, endOffset(admin, OffsetSpec.latest()), System.nanoTime() + limit.toNanos());
  }

  /** The newest position that is surely committed, whatever hangs after it; null: there is none. */
  @Nullable Position newestCommitted(Admin admin, Duration limit) {
    Stored stored =
        readStored(
            admin,
            endOffset(admin, OffsetSpec.latest(), IsolationLevel.READ_COMMITTED),
            System.nanoTime() + limit.toNanos());
    return stored == null ? null : stored.position();
  }

  private @Nullable Stored readStored(Admin admin, long end, long deadlineNs) {
    long start = endOffset(admin, OffsetSpec.earliest());
    Map<String, Object> properties = kafka.consumerProperties("payrelay-relay-position");
    properties.put("allow.auto.create.topics", false);
    try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties)) {
      consumer.assign(List.of(partition));
      for (long tail = TAIL_FIRST; ; tail *= 10) {
        long from = Math.max(start, end - tail);
        Stored found = readFrom(admin, consumer, from, end, deadlineNs);
        if (found != null || from == start) {
          return found;
        }
      }
    }
  }

  /** Where positions are. */
  TopicPartition partition() {
    return partition;
  }

  /** Whether the newest record was aborted; false where something hangs on the partition. */
  boolean newestWasAborted(Admin admin) {
    long end = endOffset(admin, OffsetSpec.latest());
    return endOffset(admin, OffsetSpec.latest(), IsolationLevel.READ_COMMITTED) == end
        && newestOffset(admin, end, IsolationLevel.READ_UNCOMMITTED)
            > newestOffset(admin, end, IsolationLevel.READ_COMMITTED);
  }

  /** The record that stores a position. */
  ProducerRecord<byte[], byte[]> record(Position position) {
    return new ProducerRecord<>(partition.topic(), 0, slotName.getBytes(UTF_8), encode(position));
  }

  /** The record that keeps a position for {@code recover} and from every relay. */
  ProducerRecord<byte[], byte[]> recoveringRecord(Position position) {
    return new ProducerRecord<>(
        partition.topic(),
        0,
        slotName.getBytes(UTF_8),
        json(position).put(RECOVERING, true).toString().getBytes(UTF_8));
  }

  /**
   * Keeps the newest position that is surely committed for {@code recover}, and every relay from
   * starting. Outside any transaction: behind one that hangs it shows once that is ended.
   *
   * @throws PayrelayException where Kafka does not take it
   */
  void markForRecovery(Admin admin) {
    long end = endOffset(admin, OffsetSpec.latest(), IsolationLevel.READ_COMMITTED);
    Stored stored = readStored(admin, end, System.nanoTime() + MARK_LIMIT.toNanos());
    if (stored == null || stored.recovering()) {
      return;
    }
    Map<String, Object> properties = kafka.clientProperties("payrelay-relay-mark");
    properties.put("acks", "all");
    ByteArraySerializer bytes = new ByteArraySerializer();
    try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(properties, bytes, bytes)) {
      producer
          .send(recoveringRecord(stored.position()))
          .get(MARK_LIMIT.toMillis(), TimeUnit.MILLISECONDS);
    } catch (ExecutionException | TimeoutException e) {
      throw new PayrelayException(
          Category.RETRIABLE, "The position of slot " + slotName + " could not be marked", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new PayrelayException(
          Category.RETRIABLE, "Interrupted while the position was marked", e);
    }
  }

  private @Nullable Stored readFrom(
      Admin admin, KafkaConsumer<byte[], byte[]> consumer, long from, long end, long deadlineNs) {
    consumer.seek(partition, from);
    byte[] key = slotName.getBytes(UTF_8);
    ConsumerRecord<byte[], byte[]> newest = null;
    while (consumer.position(partition) < end) {
      if (System.nanoTime() > deadlineNs) {
        throw new PayrelayException(
            Category.RETRIABLE, unreadable(admin, consumer.position(partition), end));
      }
      for (ConsumerRecord<byte[], byte[]> read : consumer.poll(POLL)) {
        // Another program's record under another key says nothing, and stays until compaction.
        if (Arrays.equals(read.key(), key)) {
          newest = read;
        }
      }
    }
    return newest == null ? null : stored(newest.value());
  }

  /** Names the transaction that hangs, so that somebody can end it with Kafka's own tool. */
  private String unreadable(Admin admin, long position, long end) {
    String open =
        Futures.get(admin.describeProducers(List.of(partition)).partitionResult(partition))
            .activeProducers()
            .stream()
            .filter(producer -> producer.currentTransactionStartOffset().isPresent())
            .map(
                producer ->
                    "producer id %d, epoch %d, from offset %d"
                        .formatted(
                            producer.producerId(),
                            producer.producerEpoch(),
                            producer.currentTransactionStartOffset().getAsLong()))
            .collect(Collectors.joining("; "));
    return "Topic %s could be read to offset %d only, not to its end %d: %s"
        .formatted(
            partition.topic(),
            position,
            end,
            open.isEmpty()
                ? "a broker does not answer"
                : "a transaction hangs on it (" + open + "); kafka-transactions.sh can end it");
  }

  private long newestOffset(Admin admin, long end, IsolationLevel isolation) {
    long start = endOffset(admin, OffsetSpec.earliest());
    Map<String, Object> properties = kafka.consumerProperties("payrelay-relay-position");
    properties.put("allow.auto.create.topics", false);
    properties.put("isolation.level", isolation.toString().toLowerCase(Locale.ROOT));
    long deadlineNs = System.nanoTime() + NEWEST_LIMIT.toNanos();
    long newest = -1;
    try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties)) {
      consumer.assign(List.of(partition));
      consumer.seek(partition, start);
      while (consumer.position(partition) < end) {
        if (System.nanoTime() > deadlineNs) {
          throw new PayrelayException(
              Category.RETRIABLE, "Topic %s could not be read".formatted(partition.topic()));
        }
        for (ConsumerRecord<byte[], byte[]> read : consumer.poll(POLL)) {
          newest = read.offset();
        }
      }
    }
    return newest;
  }

  private long endOffset(Admin admin, OffsetSpec spec) {
    return endOffset(admin, spec, IsolationLevel.READ_UNCOMMITTED);
  }

  private long endOffset(Admin admin, OffsetSpec spec, IsolationLevel isolation) {
    return Futures.get(
            admin
                .listOffsets(Map.of(partition, spec), new ListOffsetsOptions(isolation))
                .partitionResult(partition))
        .offset();
  }

  static byte[] encode(Position position) {
    return json(position).toString().getBytes(UTF_8);
  }

  private static ObjectNode json(Position position) {
    DatabaseIdentity origin = position.origin();
    return JSON.createObjectNode()
        .put("commit_lsn", Lsn.text(position.commitLsn()))
        .put("commit_time_usec", position.commitTimeUsec())
        .put("tx_id", position.txId())
        .put("rows_of_tx", position.rowsOfTx())
        .put("last_row_lsn", Lsn.text(position.lastRowLsn()))
        .put("system_id", origin.systemId())
        .put("timeline", origin.timeline())
        .put("kafka_cluster_id", origin.kafkaClusterId())
        .put("publication", origin.publication());
  }

  private static Stored stored(byte @Nullable [] json) {
    if (json == null) {
      throw unreadable(null);
    }
    try {
      return new Stored(decode(json), JSON.readTree(json).path(RECOVERING).asBoolean(false));
    } catch (IOException e) {
      throw unreadable(e);
    }
  }

  private static PayrelayException unreadable(@Nullable Exception cause) {
    return new PayrelayException(
        Category.FATAL,
        "The relay's position record cannot be read: find the program that wrote it, then run `payrelay relay recover`",
        cause);
  }

  static Position decode(byte[] json) {
    try {
      JsonNode node = JSON.readTree(json);
      return new Position(
          Lsn.parse(node.required("commit_lsn").asText()),
          node.required("commit_time_usec").longValue(),
          node.required("tx_id").longValue(),
          node.required("rows_of_tx").longValue(),
          Lsn.parse(node.path("last_row_lsn").asText("0/0")),
          new DatabaseIdentity(
              node.required("system_id").asText(),
              node.required("timeline").longValue(),
              node.required("kafka_cluster_id").asText(),
              node.path("publication").asText("")));
    } catch (IOException | IllegalArgumentException e) {
      throw unreadable(e);
    }
  }
}
