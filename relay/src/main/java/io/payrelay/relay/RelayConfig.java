package io.payrelay.relay;

import io.payrelay.platform.config.Setting;
import io.payrelay.platform.config.Settings;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.schemas.EventCatalogue;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

/** How the relay works. Immutable. */
public record RelayConfig(
    String slotName,
    String publicationName,
    String instanceName,
    Duration lease,
    Duration leaseRenew,
    Duration pollInterval,
    int batchSizeMax,
    Duration heartbeatInterval,
    Duration transactionTimeout,
    Duration backoffFirst,
    Duration backoffMax,
    Path schemasDir,
    boolean slotFailover,
    FramingConfig framing,
    UpkeepConfig upkeep) {

  private static final String IDENTIFIER = "[a-z_][a-z0-9_]{0,62}";

  public static final Setting<String> SLOT_NAME =
      identifier("PAYRELAY_RELAY_SLOT_NAME", "payrelay", "name of the replication slot");
  public static final Setting<String> PUBLICATION_NAME =
      identifier(
          "PAYRELAY_RELAY_PUBLICATION_NAME", "payrelay_outbox", "name of the outbox's publication");
  public static final Setting<String> INSTANCE_NAME =
      Setting.text(
          "PAYRELAY_RELAY_INSTANCE_NAME",
          "",
          "name of this relay process in the lease; empty: host name and process id");
  public static final Setting<Duration> LEASE =
      Setting.millis(
          "PAYRELAY_RELAY_LEASE_MS",
          "3000",
          1000,
          60_000,
          "how long the slot's owner may be silent before a standby takes over");
  public static final Setting<Duration> LEASE_RENEW =
      Setting.millis(
          "PAYRELAY_RELAY_LEASE_RENEW_MS",
          "1000",
          100,
          20_000,
          "how often the owner renews its lease; at most half of the lease");
  public static final Setting<Duration> POLL_INTERVAL =
      Setting.millis(
          "PAYRELAY_RELAY_POLL_INTERVAL_MS",
          "2",
          1,
          1000,
          "how long to wait for more rows before a batch that is not full is published");
  public static final Setting<Integer> BATCH_SIZE_MAX =
      Setting.integer(
          "PAYRELAY_RELAY_BATCH_SIZE_MAX", "2048", 1, 20_000, "rows in one Kafka transaction");
  public static final Setting<Duration> HEARTBEAT_INTERVAL =
      Setting.millis(
          "PAYRELAY_RELAY_HEARTBEAT_INTERVAL_MS",
          "2000",
          100,
          60_000,
          "how often the position moves while the outbox is idle");
  public static final Setting<Duration> TRANSACTION_TIMEOUT =
      Setting.millis(
          "PAYRELAY_RELAY_TRANSACTION_TIMEOUT_MS",
          "30000",
          5000,
          900_000,
          "after which Kafka ends a transaction whose relay has vanished");
  public static final Setting<Duration> BACKOFF_FIRST =
      Setting.millis(
          "PAYRELAY_RELAY_BACKOFF_FIRST_MS", "200", 10, 60_000, "first wait after a failure");
  public static final Setting<Duration> BACKOFF_MAX =
      Setting.millis(
          "PAYRELAY_RELAY_BACKOFF_MAX_MS",
          "10000",
          100,
          600_000,
          "longest wait between two starts after failures");
  public static final Setting<Path> SCHEMAS_DIR =
      Setting.path(
          "PAYRELAY_SCHEMAS_DIR",
          "",
          "folder of further event types: event-catalogue.json and the schemas it names");

  public static final Setting<Boolean> SLOT_FAILOVER =
      Setting.flag(
          "PAYRELAY_RELAY_SLOT_FAILOVER",
          "false",
          "true: standbys keep the slot too, for a failover without a gap (PostgreSQL 17 or newer)");

  /** All of them. */
  public static final List<Setting<?>> SETTINGS =
      Stream.of(
              Stream.<Setting<?>>of(
                  SLOT_NAME,
                  PUBLICATION_NAME,
                  INSTANCE_NAME,
                  LEASE,
                  LEASE_RENEW,
                  POLL_INTERVAL,
                  BATCH_SIZE_MAX,
                  HEARTBEAT_INTERVAL,
                  TRANSACTION_TIMEOUT,
                  BACKOFF_FIRST,
                  BACKOFF_MAX,
                  SCHEMAS_DIR,
                  SLOT_FAILOVER),
              FramingConfig.SETTINGS.stream(),
              UpkeepConfig.SETTINGS.stream())
          .flatMap(all -> all)
          .toList();

  /** Refuses values that do not go together. */
  public RelayConfig {
    if (leaseRenew.multipliedBy(2).compareTo(lease) > 0) {
      throw new PayrelayException(
          Category.FATAL,
          "PAYRELAY_RELAY_LEASE_RENEW_MS is %d, which is more than half of PAYRELAY_RELAY_LEASE_MS, %d"
              .formatted(leaseRenew.toMillis(), lease.toMillis()));
    }
    if (backoffFirst.compareTo(backoffMax) > 0) {
      throw new PayrelayException(
          Category.FATAL,
          "PAYRELAY_RELAY_BACKOFF_FIRST_MS is %d, which is more than PAYRELAY_RELAY_BACKOFF_MAX_MS, %d"
              .formatted(backoffFirst.toMillis(), backoffMax.toMillis()));
    }
  }

  /** Reads the checked settings. */
  public static RelayConfig from(Settings settings) {
    String instance = settings.read(INSTANCE_NAME);
    return new RelayConfig(
        settings.read(SLOT_NAME),
        settings.read(PUBLICATION_NAME),
        instance.isEmpty() ? hostAndProcess() : instance,
        settings.read(LEASE),
        settings.read(LEASE_RENEW),
        settings.read(POLL_INTERVAL),
        settings.read(BATCH_SIZE_MAX),
        settings.read(HEARTBEAT_INTERVAL),
        settings.read(TRANSACTION_TIMEOUT),
        settings.read(BACKOFF_FIRST),
        settings.read(BACKOFF_MAX),
        settings.read(SCHEMAS_DIR),
        settings.read(SLOT_FAILOVER),
        FramingConfig.from(settings),
        UpkeepConfig.from(settings));
  }

  /**
   * The built-in event types and those of the schemas folder.
   *
   * @throws PayrelayException FATAL, naming the file that cannot be used
   */
  public EventCatalogue catalogue() {
    try {
      return EventCatalogue.withFolder(schemasDir);
    } catch (IllegalArgumentException e) {
      throw new PayrelayException(
          Category.FATAL, "PAYRELAY_SCHEMAS_DIR cannot be used: " + e.getMessage(), e);
    }
  }

  /** What Kafka fences by: whoever works on this slot has this id. */
  String transactionalId() {
    return "payrelay-relay-" + slotName;
  }

  private static Setting<String> identifier(String name, String defaultText, String description) {
    return new Setting<>(
        name,
        "lower-case letters, digits and underscores, at most 63",
        defaultText,
        description,
        RelayConfig::checkIdentifier,
        false);
  }

  private static String checkIdentifier(String text) {
    if (!text.matches(IDENTIFIER)) {
      throw new IllegalArgumentException("not an identifier");
    }
    return text;
  }

  private static String hostAndProcess() {
    String host;
    try {
      host = InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException e) {
      // A container without a resolvable name: the process id and the owner's nonce still tell.
      host = "unknown-host";
    }
    return host + "-" + ProcessHandle.current().pid();
  }
}
