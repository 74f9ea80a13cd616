package io.payrelay.relay;

import io.payrelay.platform.database.DatabaseConfig;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.util.Properties;
import java.util.Set;
import org.postgresql.Driver;
import org.postgresql.PGProperty;

/** Debezium's properties. Each is chosen for exactly-once or for latency. Stateless. */
final class EngineSettings {

  static final String PREFIX = "payrelay";
  static final String ROW_TOPIC = PREFIX + ".payrelay.outbox";
  static final String MESSAGE_TOPIC = PREFIX + ".message";

  private static final String QUEUE_BYTES_MAX = Integer.toString(32 * 1024 * 1024);
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
    // Four batches wait at most; Debezium demands more than one.
    properties.setProperty("max.queue.size", Integer.toString(config.batchSizeMax() * 4));
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
    properties.setProperty("status.update.interval.ms", "1000");
    properties.setProperty(
        "heartbeat.interval.ms", Long.toString(config.heartbeatInterval().toMillis()));
    // Plain heartbeats do not move an idle slot beside writes to other tables; a message does.
    properties.setProperty(
        "heartbeat.action.query", "SELECT pg_logical_emit_message(true, 'payrelay', '')");
  }

  private static void connection(Properties properties, DatabaseConfig database) {
    Properties parsed = Driver.parseURL(database.url(), new Properties());
    if (parsed == null) {
      throw new PayrelayException(
          Category.FATAL, "PAYRELAY_DATABASE_URL is not an address that the driver understands");
    }
    String host = PGProperty.PG_HOST.getOrDefault(parsed);
    if (host == null || host.contains(",")) {
      throw new PayrelayException(
          Category.FATAL,
          "PAYRELAY_DATABASE_URL must name one host: a slot lives on one server, use an address that follows the primary");
    }
    properties.setProperty("database.hostname", host);
    properties.setProperty("database.port", text(parsed, PGProperty.PG_PORT));
    properties.setProperty("database.dbname", text(parsed, PGProperty.PG_DBNAME));
    properties.setProperty("database.user", database.user());
    properties.setProperty("database.password", database.password().reveal());
    Set<String> taken =
        Set.of(
            PGProperty.PG_HOST.getName(),
            PGProperty.PG_PORT.getName(),
            PGProperty.PG_DBNAME.getName(),
            PGProperty.USER.getName(),
            PGProperty.PASSWORD.getName());
    for (String name : parsed.stringPropertyNames()) {
      if (!taken.contains(name)) {
        String prefix = TLS.contains(name) ? "database." : "driver.";
        properties.setProperty(prefix + name, parsed.getProperty(name));
      }
    }
  }

  private static String text(Properties parsed, PGProperty property) {
    String value = property.getOrDefault(parsed);
    return value == null ? "" : value;
  }
}
