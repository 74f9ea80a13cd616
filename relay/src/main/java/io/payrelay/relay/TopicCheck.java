package io.payrelay.relay;

import io.payrelay.schemas.Topic;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.FinalizedVersionRange;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Settings of brokers and topics that break what the relay promises, as sentences. It reads only.
 * Stateless.
 */
final class TopicCheck {

  private static final Logger log = LoggerFactory.getLogger(TopicCheck.class);

  /** One broker may be lost while another one is restarted. */
  static final int REPLICAS_MIN = 3;

  static final int IN_SYNC_MIN = 2;

  /** From here on a transaction's markers cannot be mixed up with a later one's. */
  static final int TRANSACTION_VERSION_MIN = 2;

  /** Kafka's own topic of transaction states: its loss is the loss of fencing. */
  private static final String TRANSACTION_STATE = "__transaction_state";

  private TopicCheck() {}

  /** Partitions of those that exist. */
  static Map<String, Integer> partitions(Admin admin, List<Topic> topics) {
    Map<String, Integer> partitions = new TreeMap<>();
    describe(admin, topics.stream().map(Topic::name).toList())
        .forEach((name, topic) -> partitions.put(name, topic.partitions().size()));
    return partitions;
  }

  static List<String> warnings(Admin admin, List<Topic> topics) {
    List<String> names = new ArrayList<>(topics.stream().map(Topic::name).toList());
    names.add(TRANSACTION_STATE);
    Map<String, TopicDescription> found = describe(admin, names);
    List<String> warnings = new ArrayList<>();
    transactionVersion(admin, warnings);
    replicas(found, warnings);
    Map<String, Config> configs;
    try {
      configs = configs(admin, found.keySet());
    } catch (AuthorizationException e) {
      warnings.add("The topics' settings may not be read by this Kafka user (DescribeConfigs)");
      configs = Map.of();
    }
    settings(configs, warnings);
    for (Topic topic : topics) {
      TopicDescription description = found.get(topic.name());
      if (description == null) {
        warnings.add("Topic %s does not exist: run `payrelay migrate`".formatted(topic.name()));
        continue;
      }
      int partitions = description.partitions().size();
      if (partitions != topic.partitions()) {
        warnings.add(
            "Topic %s has %d partitions instead of %d: events of one aggregate may come out of order"
                .formatted(topic.name(), partitions, topic.partitions()));
      }
      Config config = configs.get(topic.name());
      if (config != null) {
        retention(topic, config, warnings);
      }
    }
    return warnings;
  }

  private static void transactionVersion(Admin admin, List<String> warnings) {
    FinalizedVersionRange version =
        Futures.get(admin.describeFeatures().featureMetadata())
            .finalizedFeatures()
            .get("transaction.version");
    int level = version == null ? 0 : version.maxVersionLevel();
    if (level < TRANSACTION_VERSION_MIN) {
      warnings.add(
          "transaction.version of the cluster is %d: upgrade it to %d with kafka-features"
              .formatted(level, TRANSACTION_VERSION_MIN));
    }
  }

  private static void replicas(Map<String, TopicDescription> found, List<String> warnings) {
    Map<String, Integer> few = new TreeMap<>();
    List<String> leaderless = new ArrayList<>();
    found.forEach(
        (name, topic) -> {
          for (TopicPartitionInfo partition : topic.partitions()) {
            int replicas = partition.replicas().size();
            if (replicas < REPLICAS_MIN) {
              few.merge(name, replicas, Math::min);
            }
            if (partition.leader() == null || partition.leader().isEmpty()) {
              leaderless.add(name + "-" + partition.partition());
            }
          }
        });
    if (!few.isEmpty()) {
      warnings.add("Replication factor below %d: %s".formatted(REPLICAS_MIN, few));
    }
    if (!leaderless.isEmpty()) {
      warnings.add("Partitions without a leader: " + leaderless);
    }
  }

  private static void settings(Map<String, Config> configs, List<String> warnings) {
    Map<String, String> inSync = new TreeMap<>();
    List<String> unclean = new ArrayList<>();
    new TreeMap<>(configs)
        .forEach(
            (name, config) -> {
              String min = value(config, TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG);
              if (!min.isEmpty() && Integer.parseInt(min) < IN_SYNC_MIN) {
                inSync.put(name, min);
              }
              if (value(config, TopicConfig.UNCLEAN_LEADER_ELECTION_ENABLE_CONFIG).equals("true")) {
                unclean.add(name);
              }
            });
    if (!inSync.isEmpty()) {
      warnings.add("min.insync.replicas below %d: %s".formatted(IN_SYNC_MIN, inSync));
    }
    if (!unclean.isEmpty()) {
      warnings.add("unclean.leader.election.enable is on, which can lose records: " + unclean);
    }
  }

  private static void retention(Topic topic, Config config, List<String> warnings) {
    String policy = value(config, TopicConfig.CLEANUP_POLICY_CONFIG);
    String wanted = topic.configuration().getOrDefault(TopicConfig.CLEANUP_POLICY_CONFIG, "");
    if (!policy.equals(wanted)) {
      warnings.add(
          "Topic %s has cleanup.policy %s and must have %s"
              .formatted(topic.name(), policy, wanted));
    }
    String kept = value(config, TopicConfig.RETENTION_MS_CONFIG);
    if (topic.retention().isZero() || kept.isEmpty()) {
      return;
    }
    long keptMs = Long.parseLong(kept);
    if (keptMs >= 0 && keptMs < topic.retention().toMillis()) {
      warnings.add(
          "Topic %s keeps records for %d ms instead of %d: a recovery may not reach back far enough"
              .formatted(topic.name(), keptMs, topic.retention().toMillis()));
    }
  }

  private static Map<String, TopicDescription> describe(Admin admin, Collection<String> names) {
    Map<String, TopicDescription> found = new TreeMap<>();
    for (Map.Entry<String, KafkaFuture<TopicDescription>> asked :
        admin.describeTopics(names).topicNameValues().entrySet()) {
      try {
        found.put(asked.getKey(), Futures.get(asked.getValue()));
      } catch (UnknownTopicOrPartitionException | AuthorizationException e) {
        // Without the right to describe it, it is as if it were not there.
        log.debug("topic={} cannot be described", asked.getKey(), e);
      }
    }
    return found;
  }

  private static Map<String, Config> configs(Admin admin, Collection<String> names) {
    Map<String, Config> configs = new HashMap<>();
    admin
        .describeConfigs(
            names.stream()
                .map(name -> new ConfigResource(ConfigResource.Type.TOPIC, name))
                .toList())
        .values()
        .forEach((resource, config) -> configs.put(resource.name(), Futures.get(config)));
    return configs;
  }

  private static String value(Config config, String name) {
    ConfigEntry entry = config.get(name);
    return entry == null || entry.value() == null ? "" : entry.value();
  }
}
