package io.payrelay.relay;

import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.Topic;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.config.TopicConfig;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes the topics, and tells whether existing ones are as they must be. Stateless. */
final class Topics {

  private static final Logger log = LoggerFactory.getLogger(Topics.class);

  /** What Kafka takes where nobody has set another size. */
  static final int RECORD_BYTES_MAX_DEFAULT = 1_048_588;

  /** Room for what a dead letter says beside the original. */
  private static final int DEAD_LETTER_BYTES_MIN = 16 * 1024;

  private static final int TRIES = 40;
  private static final long PAUSE_NS = TimeUnit.MILLISECONDS.toNanos(100);

  private Topics() {}

  /** All topics of an installation with that slot. */
  static List<Topic> all(EventCatalogue catalogue, String slotName) {
    List<Topic> topics = new ArrayList<>(Topic.all());
    topics.addAll(catalogue.ownTopics());
    topics.add(Topic.relayPosition(slotName));
    return topics;
  }

  /** Makes the missing ones with the broker's own replication factor and verifies the others. */
  static void ensure(Admin admin, List<Topic> topics) {
    Set<String> existing = names(admin);
    List<NewTopic> missing =
        topics.stream()
            .filter(topic -> !existing.contains(topic.name()))
            .map(
                topic ->
                    new NewTopic(topic.name(), Optional.of(topic.partitions()), Optional.empty())
                        .configs(topic.configuration()))
            .toList();
    for (KafkaFuture<Void> made : admin.createTopics(missing).values().values()) {
      try {
        Futures.get(made);
      } catch (TopicExistsException e) {
        log.debug("a topic was made by somebody else in this moment: it is verified below", e);
      }
    }
    verify(admin, topics);
  }

  static boolean exists(Admin admin, String topic) {
    return names(admin).contains(topic);
  }

  /**
   * Largest record each topic takes, in bytes; the relay refuses to start where one is missing,
   * since a send would only block.
   */
  static Map<String, Integer> recordBytesMax(Admin admin, Collection<String> topics) {
    for (Map.Entry<String, KafkaFuture<TopicDescription>> topic :
        admin.describeTopics(topics).topicNameValues().entrySet()) {
      try {
        Futures.get(topic.getValue());
      } catch (UnknownTopicOrPartitionException e) {
        throw StartupCheck.refused(
            "Topic %s does not exist: run `payrelay migrate`".formatted(topic.getKey()));
      }
    }
    Map<String, Integer> limits = new HashMap<>();
    try {
      configs(admin, topics).forEach((name, config) -> limits.put(name, messageBytesMax(config)));
    } catch (AuthorizationException e) {
      // Without the right to read configurations the default is the best guess.
      topics.forEach(name -> limits.put(name, RECORD_BYTES_MAX_DEFAULT));
    }
    int deadLetter = limits.getOrDefault(Topic.DEAD_LETTER, RECORD_BYTES_MAX_DEFAULT);
    if (deadLetter < DEAD_LETTER_BYTES_MIN) {
      // A row that is refused there too would stop the stream.
      throw StartupCheck.refused(
          "Topic %s takes records of %d bytes only: set its max.message.bytes to %d or more with kafka-configs"
              .formatted(Topic.DEAD_LETTER, deadLetter, DEAD_LETTER_BYTES_MIN));
    }
    return limits;
  }

  static Set<String> names(Admin admin) {
    return Futures.get(admin.listTopics().names());
  }

  private static void verify(Admin admin, List<Topic> topics) {
    List<String> names = topics.stream().map(Topic::name).toList();
    Map<String, TopicDescription> found = describe(admin, names);
    Map<String, Config> configs = configs(admin, names);
    for (Topic topic : topics) {
      int partitions = Objects.requireNonNull(found.get(topic.name())).partitions().size();
      if (partitions != topic.partitions()) {
        throw StartupCheck.refused(
            "Topic %s has %d partitions and must have %d: another number would break the order of events already there; make it anew or use another cluster"
                .formatted(topic.name(), partitions, topic.partitions()));
      }
      String wanted = topic.configuration().get(TopicConfig.CLEANUP_POLICY_CONFIG);
      String policy = value(configs.get(topic.name()), TopicConfig.CLEANUP_POLICY_CONFIG);
      if (!policy.equals(wanted)) {
        throw StartupCheck.refused(
            "Topic %s has cleanup.policy %s and must have %s: change it with kafka-configs"
                .formatted(topic.name(), policy, wanted));
      }
    }
  }

  /** A topic just made is not known to each broker at once. */
  private static Map<String, TopicDescription> describe(Admin admin, List<String> names) {
    for (int tries = 1; ; tries++) {
      KafkaFuture<Map<String, TopicDescription>> asked =
          admin.describeTopics(names).allTopicNames();
      try {
        return Futures.get(asked);
      } catch (UnknownTopicOrPartitionException e) {
        if (tries == TRIES) {
          throw e;
        }
        LockSupport.parkNanos(PAUSE_NS);
      }
    }
  }

  private static Map<String, Config> configs(Admin admin, Collection<String> names) {
    List<ConfigResource> resources =
        names.stream().map(name -> new ConfigResource(ConfigResource.Type.TOPIC, name)).toList();
    Map<String, Config> configs = new HashMap<>();
    admin
        .describeConfigs(resources)
        .values()
        .forEach((resource, config) -> configs.put(resource.name(), Futures.get(config)));
    return configs;
  }

  private static int messageBytesMax(Config config) {
    String text = value(config, TopicConfig.MAX_MESSAGE_BYTES_CONFIG);
    return text.isEmpty() ? RECORD_BYTES_MAX_DEFAULT : Integer.parseInt(text);
  }

  private static String value(@Nullable Config config, String name) {
    ConfigEntry entry = config == null ? null : config.get(name);
    return entry == null || entry.value() == null ? "" : entry.value();
  }
}
