package io.payrelay.localstack;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.utils.Exit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class LocalKafkaIT {
  @Test
  void keepsRecordsOverAnOutageOnTheSamePort() throws Exception {
    try (LocalKafka kafka = LocalKafka.builder().start()) {
      String bootstrap = kafka.bootstrapServers();
      Records.createTopic(bootstrap, "kept");
      Records.sendInTransaction(bootstrap, "kept", "a", "b");

      kafka.stop();
      kafka.start();
      Records.sendInTransaction(bootstrap, "kept", "c");

      assertThat(kafka.bootstrapServers()).isEqualTo(bootstrap);
      assertThat(Records.readCommitted(bootstrap, "kept", 3)).containsExactly("a", "b", "c");
    }
  }

  @Test
  void speaksTransactionsOfVersion2AndMakesNoTopicByItself() throws Exception {
    String bootstrap = TestInfra.shared().bootstrapServers();
    try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
      short version =
          admin
              .describeFeatures()
              .featureMetadata()
              .get()
              .finalizedFeatures()
              .get("transaction.version")
              .maxVersionLevel();

      assertThat(version).isEqualTo((short) 2);
      assertThatThrownBy(
              () -> admin.describeTopics(java.util.List.of("unknown")).allTopicNames().get())
          .isInstanceOf(ExecutionException.class)
          .hasCauseInstanceOf(UnknownTopicOrPartitionException.class);
    }
  }

  @Test
  void survivesAFatalFaultOfTheBroker() {
    assertThat(TestInfra.shared().bootstrapServers()).startsWith("127.0.0.1:");

    assertThatThrownBy(() -> Exit.halt(1, "disk gone"))
        .isInstanceOf(LocalStackException.class)
        .hasMessageContaining("disk gone");
  }
}
