package io.payrelay.app;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.kafka.HeaderValues;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.schemas.EncodingException;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.EventCodec;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.StringJoiner;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.ParentCommand;
import picocli.CommandLine.Spec;

/** Prints records of a topic as they come. */
@Command(
    name = "tail",
    mixinStandardHelpOptions = true,
    description =
        "Prints the records of a topic, decoded, with key and headers, committed ones only.")
@SuppressWarnings("NullAway.Init") // picocli injects.
final class TailCommand implements Runnable {

  private static final Duration POLL = Duration.ofMillis(200);
  private static final ObjectMapper JSON = new ObjectMapper();

  @ParentCommand private PayrelayCommand parent;
  @Spec private CommandSpec spec;

  @Parameters(paramLabel = "TOPIC", description = "such as payrelay.payment-status")
  private String topic;

  @Option(
      names = "--from-beginning",
      description = "begin with the oldest record, not with new ones")
  private boolean fromBeginning;

  @Option(names = "--max", paramLabel = "N", description = "stop after that many records")
  private @Nullable Long max;

  @Override
  public void run() {
    KafkaConfig kafka =
        KafkaConfig.from(AppSettings.check(parent.environment(), KafkaConfig.SETTINGS));
    EventCodec codec =
        new EventCodec(
            EventCatalogue.withFolder(
                Path.of(parent.environment().getOrDefault("PAYRELAY_SCHEMAS_DIR", ""))));
    PrintWriter out = spec.commandLine().getOut();
    try (KafkaConsumer<byte[], byte[]> consumer =
        new KafkaConsumer<>(kafka.consumerProperties("payrelay-tail"))) {
      List<PartitionInfo> partitions = KafkaQuestions.partitions(consumer, kafka, topic);
      if (partitions.isEmpty()) {
        throw new PayrelayException(
            Category.FATAL,
            "Topic " + topic + " does not exist: `payrelay migrate` makes the topics");
      }
      List<TopicPartition> assigned =
          partitions.stream().map(p -> new TopicPartition(p.topic(), p.partition())).toList();
      consumer.assign(assigned);
      if (fromBeginning) {
        consumer.seekToBeginning(assigned);
      } else {
        consumer.seekToEnd(assigned);
      }
      long left = max == null ? Long.MAX_VALUE : max;
      while (left > 0 && !Thread.currentThread().isInterrupted()) {
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
          if (left-- <= 0) {
            break;
          }
          out.println(line(record, codec));
        }
        out.flush();
      }
    }
  }

  private static String line(ConsumerRecord<byte[], byte[]> record, EventCodec codec) {
    StringJoiner headers = new StringJoiner(" ");
    for (Header header : record.headers()) {
      headers.add(header.key() + "=" + text(header.value()));
    }
    return "%s-%d@%d key=%s %s%n  %s"
        .formatted(
            record.topic(),
            record.partition(),
            record.offset(),
            text(record.key()),
            headers,
            value(record, codec));
  }

  private static String value(ConsumerRecord<byte[], byte[]> record, EventCodec codec) {
    byte @Nullable [] value = record.value();
    if (value == null) {
      return "(no value)";
    }
    try {
      return codec
          .decode(value, HeaderValues.last(record.headers(), EventCodec.DATA_SCHEMA))
          .toString();
    } catch (EncodingException e) {
      return value.length > 0 && (value[0] == '{' || value[0] == '[')
          ? json(value)
          : "(" + value.length + " bytes: " + e.getMessage() + ")";
    }
  }

  private static String json(byte[] value) {
    String text = new String(value, StandardCharsets.UTF_8);
    try {
      return JSON.writeValueAsString(JSON.readTree(text));
    } catch (JsonProcessingException e) {
      return "(" + value.length + " bytes)";
    }
  }

  private static String text(byte @Nullable [] bytes) {
    return bytes == null ? "" : new String(bytes, StandardCharsets.UTF_8);
  }
}
