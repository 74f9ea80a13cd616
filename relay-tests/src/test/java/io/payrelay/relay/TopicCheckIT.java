package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.localstack.TestInfra;
import io.payrelay.schemas.Topic;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class TopicCheckIT {

  @Test
  void namesEverySettingThatBreaksThePromises() {
    String suffix = "-" + System.nanoTime();
    Topic changed = new Topic("check-changed" + suffix, 12, Duration.ofDays(30));
    Topic kept = new Topic("check-kept" + suffix, 3, Duration.ofDays(30));
    Topic missing = new Topic("check-missing" + suffix, 1, Duration.ofDays(30));
    try (Admin admin =
        Admin.create(Map.of("bootstrap.servers", (Object) TestInfra.shared().bootstrapServers()))) {
      Futures.get(
          admin
              .createTopics(
                  List.of(
                      new NewTopic(changed.name(), Optional.of(2), Optional.empty())
                          .configs(
                              Map.of(
                                  "cleanup.policy", "compact",
                                  "retention.ms", "3600000",
                                  "min.insync.replicas", "1",
                                  "unclean.leader.election.enable", "true")),
                      new NewTopic(kept.name(), Optional.of(3), Optional.empty())
                          .configs(kept.configuration())))
              .all());

      List<String> warnings = TopicCheck.warnings(admin, List.of(changed, kept, missing));

      assertThat(warnings)
          .anySatisfy(
              one -> assertThat(one).startsWith("Replication factor below 3").contains("=1"))
          .anySatisfy(
              one -> assertThat(one).startsWith("min.insync.replicas below 2").contains("=1"))
          .anySatisfy(
              one ->
                  assertThat(one)
                      .startsWith("unclean.leader.election.enable is on")
                      .contains(changed.name())
                      .doesNotContain(kept.name()))
          .contains(
              "Topic %s does not exist: run `payrelay migrate`".formatted(missing.name()),
              "Topic %s has cleanup.policy compact and must have delete".formatted(changed.name()),
              "Topic %s has 2 partitions instead of 12: events of one aggregate may come out of order"
                  .formatted(changed.name()))
          .anySatisfy(
              one ->
                  assertThat(one)
                      .startsWith(
                          "Topic %s keeps records for 3600000 ms".formatted(changed.name())))
          .noneSatisfy(one -> assertThat(one).startsWith("Topic " + kept.name()))
          .noneSatisfy(one -> assertThat(one).contains("transaction.version"));
      assertThat(TopicCheck.partitions(admin, List.of(changed, kept, missing)))
          .isEqualTo(Map.of(changed.name(), 2, kept.name(), 3));
    }
  }
}
