package io.payrelay.localstack;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.kafka.metadata.storage.Formatter;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.server.common.TransactionVersion;

/** How the embedded broker is set up, and its storage made. */
final class KafkaSettings {
  private static final int NODE_ID = 1;
  private static final String CONTROLLER = "CONTROLLER";
  private static final String PROTOCOLS = "PLAINTEXT:PLAINTEXT," + CONTROLLER + ":PLAINTEXT";
  // Below the ports that a system gives to clients, so that no chosen port is the same.
  private static final int CONTAINER_CONTROLLER_PORT = 9093;

  /** One broker, small coordinator topics, and nothing that waits without need. */
  private static final Map<String, String> SMALL =
      Map.ofEntries(
          Map.entry("auto.create.topics.enable", "false"),
          Map.entry("default.replication.factor", "1"),
          Map.entry("min.insync.replicas", "1"),
          Map.entry("offsets.topic.replication.factor", "1"),
          Map.entry("offsets.topic.num.partitions", "4"),
          Map.entry("transaction.state.log.replication.factor", "1"),
          Map.entry("transaction.state.log.min.isr", "1"),
          Map.entry("transaction.state.log.num.partitions", "4"),
          Map.entry("share.coordinator.state.topic.replication.factor", "1"),
          Map.entry("share.coordinator.state.topic.min.isr", "1"),
          Map.entry("share.coordinator.state.topic.num.partitions", "1"),
          Map.entry("group.initial.rebalance.delay.ms", "0"),
          // There is no other broker to hand its partitions to; without leaders for a moment, they
          // would lose the end markers of transactions that end in it (KAFKA-20734).
          Map.entry("controlled.shutdown.enable", "false"),
          // After that, as after kill -9, the controller refuses the broker until its old session
          // has ended.
          Map.entry("broker.session.timeout.ms", "3000"),
          Map.entry("broker.heartbeat.interval.ms", "1000"),
          // How long a broker waits before it looks again whether the last transaction has its end
          // markers. The default, 20 ms, is more than writing them takes, and each transaction that
          // follows closely on another waits for it.
          Map.entry("add.partitions.to.txn.retry.backoff.ms", "1"),
          Map.entry("server.max.startup.time.ms", "60000"));

  private KafkaSettings() {}

  /** The same broker in a container, whose data needs no place. */
  static Map<String, String> inContainer(String host, int port) {
    Map<String, String> settings = new LinkedHashMap<>(SMALL);
    settings.put("process.roles", "broker,controller");
    settings.put("node.id", Integer.toString(NODE_ID));
    settings.put("controller.quorum.voters", NODE_ID + "@localhost:" + CONTAINER_CONTROLLER_PORT);
    settings.put("controller.listener.names", CONTROLLER);
    settings.put(
        "listeners",
        "PLAINTEXT://:" + port + "," + CONTROLLER + "://:" + CONTAINER_CONTROLLER_PORT);
    settings.put("advertised.listeners", "PLAINTEXT://" + host + ":" + port);
    settings.put("listener.security.protocol.map", PROTOCOLS);
    return settings;
  }

  /** The image's convention: underscores for dots. */
  static String environmentName(String property) {
    return property.replace('.', '_').toUpperCase(Locale.ROOT);
  }

  static Map<String, String> of(
      Path data, int port, int controllerPort, Map<String, String> overrides) {
    String listener = "PLAINTEXT://127.0.0.1:" + port;
    Map<String, String> settings = new LinkedHashMap<>();
    settings.put("process.roles", "broker,controller");
    settings.put("node.id", Integer.toString(NODE_ID));
    settings.put("controller.quorum.voters", NODE_ID + "@127.0.0.1:" + controllerPort);
    settings.put("controller.listener.names", CONTROLLER);
    settings.put("listeners", listener + "," + CONTROLLER + "://127.0.0.1:" + controllerPort);
    settings.put("advertised.listeners", listener);
    settings.put("listener.security.protocol.map", PROTOCOLS);
    settings.put("log.dirs", data.toString());
    settings.putAll(SMALL);
    // The cleaner would take 128 MB of heap at once, and each index file 10 MB of disk.
    settings.put("log.cleaner.dedupe.buffer.size", "4194304");
    settings.put("log.index.size.max.bytes", "1048576");
    settings.putAll(overrides);
    return settings;
  }

  /** Writes the storage of a new cluster, with transactions of version 2. */
  static void format(Path data, String clusterId) throws IOException {
    Files.createDirectories(data);
    try (PrintStream nowhere =
        new PrintStream(OutputStream.nullOutputStream(), false, StandardCharsets.UTF_8)) {
      new Formatter()
          .setPrintStream(nowhere)
          .setNodeId(NODE_ID)
          .setClusterId(clusterId)
          .setDirectories(List.of(data.toString()))
          .setMetadataLogDirectory(data.toString())
          .setControllerListenerName(CONTROLLER)
          .setReleaseVersion(MetadataVersion.latestProduction())
          .setFeatureLevel(TransactionVersion.FEATURE_NAME, TransactionVersion.TV_2.featureLevel())
          .setIgnoreFormatted(true)
          .run();
    } catch (IOException | RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new IOException(e);
    }
  }
}
