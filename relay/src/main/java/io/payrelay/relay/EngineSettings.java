package io.payrelay.relay;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.net.URI;
import java.net.URLDecoder;
import java.util.Properties;
import java.util.Set;

/** Debezium's properties. Each is chosen for exactly-once or for latency. Stateless. */
final class EngineSettings {

  static final String PREFIX = "payrelay";
  static final String ROW_TOPIC = PREFIX + ".payrelay.outbox";
  static final String MESSAGE_TOPIC = PREFIX + ".message";

  private static final String QUEUE_BYTES_MAX = Integer.toString(32 * 1024 * 1024);
  private static final int DEFAULT_PORT = 5432;
  private static final String CONFIRM_INTERVAL_MS = "500";

  /** Parameters of the JDBC URL that Debezium has settings of its own for. */
  private static final Set<String> TLS =
      Set.of("sslmode", "sslcert", "sslkey", "sslrootcert", "sslpassword", "sslfactory");

  private EngineSettings() {}

  static Properties of(DatabaseConfig database, RelayConfig config, String seedId) {
    Properties properties = new Properties();
    properties.setProperty("name", PREFIX + "-" + config.slotName());
    properties.setProperty("connector.class", "io.debezium.connector.postgresql.PostgresConnector");
    properties.setProperty("topic.prefix", PREFIX);
    // Debezium waits a minute where another engine of this JVM has the same JMX names.
    properties.setProperty("custom.metric.tags", "session=" + seedId);
    connection(properties, database);
    source(properties, config);
    // Debezium must never restart inside the engine: it would send the open transaction again,
    // unseen by the count of rows.
    properties.setProperty("errors.max.retries", "0");
    properties.setProperty("slot.max.retries", "2");
    properties.setProperty("slot.retry.delay.ms", "500");
    properties.setProperty("task.management.timeout.ms", "15000");
    properties.setProperty("offset.storage", SeededOffsetStore.class.getName());
    properties.setProperty(SeededOffsetStore.SEED_PROPERTY, seedId);
    properties.setProperty("offset.flush.interval.ms", CONFIRM_INTERVAL_MS);
    properties.setProperty("offset.flush.timeout.ms", "5000");
    properties.setProperty("lsn.flush.timeout.ms", "10000");
    properties.setProperty("record.processing.threads", "1");
    properties.setProperty("poll.interval.ms", Long.toString(config.pollInterval().toMillis()));
    properties.setProperty("max.batch.size", Integer.toString(config.batchSizeMax()));
    // Two batches wait at most; Debezium demands more than one. What waits survives each young
    // collection and is copied by it: a longer queue costs CPU and memory, and brings no rows.
    properties.setProperty("max.queue.size", Integer.toString(config.batchSizeMax() * 2));
    properties.setProperty("max.queue.size.in.bytes", QUEUE_BYTES_MAX);
    return properties;
  }

  private static void source(Properties properties, RelayConfig config) {
    properties.setProperty("plugin.name", "pgoutput");
    properties.setProperty("slot.name", config.slotName());
    properties.setProperty("slot.drop.on.stop", "false");
    properties.setProperty("publication.name", config.publicationName());
    properties.setProperty("publication.autocreate.mode", "disabled");
    properties.setProperty("table.include.list", "payrelay.outbox");
    properties.setProperty("message.prefix.include.list", "payrelay");
    properties.setProperty("snapshot.mode", "no_data");
    properties.setProperty("offset.mismatch.strategy", "no_validation");
    properties.setProperty("tombstones.on.delete", "false");
    properties.setProperty("provide.transaction.metadata", "false");
    properties.setProperty("sourceinfo.struct.maker", NoSourceInfo.class.getName());
    properties.setProperty("status.update.interval.ms", "1000");
    properties.setProperty(
        "heartbeat.interval.ms", Long.toString(config.heartbeatInterval().toMillis()));
    // Plain heartbeats do not move an idle slot beside writes to other tables; a message does.
    properties.setProperty(
        "heartbeat.action.query", "SELECT pg_logical_emit_message(true, 'payrelay', '')");
  }

  private static void connection(Properties properties, DatabaseConfig database) {
    URI address = URI.create(database.url().substring("jdbc:".length()));
    String path = address.getPath();
    if (address.getHost() == null || path == null || path.length() < 2) {
      throw new PayrelayException(
          Category.FATAL,
          "PAYRELAY_DATABASE_URL must name one host and a database: a slot lives on one server, use"
              + " an address that follows the primary");
    }
    int port = address.getPort() < 0 ? DEFAULT_PORT : address.getPort();
    properties.setProperty("database.hostname", address.getHost());
    properties.setProperty("database.port", Integer.toString(port));
    properties.setProperty("database.dbname", path.substring(1));
    properties.setProperty("database.user", database.user());
    properties.setProperty("database.password", database.password().reveal());
    String query = address.getRawQuery() == null ? "" : address.getRawQuery();
    for (String parameter : query.split("&", -1)) {
      int equals = parameter.indexOf('=');
      if (equals > 0) {
        String name = parameter.substring(0, equals);
        String prefix = TLS.contains(name) ? "database." : "driver.";
        properties.setProperty(
            prefix + name, URLDecoder.decode(parameter.substring(equals + 1), UTF_8));
      }
    }
  }
}
