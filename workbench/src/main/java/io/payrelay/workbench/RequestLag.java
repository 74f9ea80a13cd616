package io.payrelay.workbench;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.kafka.KafkaConfig;
import io.payrelay.schemas.Topic;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

/** How many requests the charge workers have not taken yet. Belongs to one thread. */
final class RequestLag implements AutoCloseable {

  private static final String GROUP = "payrelay-charge-worker";

  private final Admin admin;

  RequestLag(KafkaConfig kafka) {
    admin = Admin.create(kafka.clientProperties("payrelay-request-lag"));
  }

  /** Records of both request topics behind the group's committed offsets. */
  long records() {
    try {
      Map<TopicPartition, OffsetSpec> wanted = new HashMap<>();
      admin
          .describeTopics(List.of(Topic.CHARGE_REQUESTS, Topic.REFUND_REQUESTS))
          .allTopicNames()
          .get()
          .forEach(
              (name, topic) ->
                  topic
                      .partitions()
                      .forEach(
                          partition ->
                              wanted.put(
                                  new TopicPartition(name, partition.partition()),
                                  OffsetSpec.latest())));
      Map<TopicPartition, OffsetAndMetadata> committed =
          admin.listConsumerGroupOffsets(GROUP).partitionsToOffsetAndMetadata().get();
      long lag = 0;
      for (var end : admin.listOffsets(wanted).all().get().entrySet()) {
        OffsetAndMetadata at = committed.get(end.getKey());
        // The last offset may be the end of the relay's transaction, which no consumer is given.
        lag += Math.max(0, end.getValue().offset() - (at == null ? 0 : at.offset()) - 1);
      }
      return lag;
    } catch (ExecutionException e) {
      throw new PayrelayException(Category.RETRIABLE, "Kafka does not tell the group's offsets", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new PayrelayException(Category.RETRIABLE, "Interrupted", e);
    }
  }

  @Override
  public void close() {
    admin.close();
  }
}
