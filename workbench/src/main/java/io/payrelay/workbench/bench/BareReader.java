package io.payrelay.workbench.bench;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.postgresql.PGConnection;
import org.postgresql.PGProperty;
import org.postgresql.replication.PGReplicationStream;

/**
 * The limit: reads the outbox's changes from a slot of its own and confirms them, looking at no
 * more than each message's first byte. Nothing that decodes rows can be faster. Belongs to one
 * thread.
 */
final class BareReader {

  static final String NAME = "bare pgoutput reader";

  private static final String SLOT = "bench_limit";
  private static final int STATUS_INTERVAL_S = 1;

  private final BenchServers servers;

  BareReader(BenchServers servers) {
    this.servers = servers;
  }

  /** Makes the slot: what is written from now on is read. */
  void prepare() {
    servers.execute("SELECT pg_create_logical_replication_slot('%s', 'pgoutput')".formatted(SLOT));
  }

  /** Reads everything and drops the slot. */
  Drain.Figures measure(Drain.Size size) {
    Drain.Figures figures;
    try (Connection connection =
            DriverManager.getConnection(servers.jdbcUrl(), replication(servers.owner()));
        PGReplicationStream stream = stream(connection)) {
      read(stream, size.warmUpEvents());
      long fromNs = System.nanoTime();
      long fromCpuNs = threadCpuNs();
      read(stream, size.events());
      double seconds = (System.nanoTime() - fromNs) / 1e9;
      double cpuS = (threadCpuNs() - fromCpuNs) / 1e9;
      stream.forceUpdateStatus();
      figures =
          new Drain.Figures(
              NAME,
              size.events(),
              seconds,
              size.events() / seconds,
              cpuS / size.events() * 1e6,
              0,
              size.total(),
              0,
              0);
    } catch (SQLException e) {
      throw new PayrelayException(Category.FATAL, "The bare reader's stream ended", e);
    }
    servers.execute("SELECT pg_drop_replication_slot('%s')".formatted(SLOT));
    return figures;
  }

  private static void read(PGReplicationStream stream, int rows) throws SQLException {
    int left = rows;
    while (left > 0) {
      ByteBuffer message = stream.read();
      byte type = message.get(message.position());
      if (type == 'I') {
        left--;
      } else if (type == 'C') {
        // Sent with the next status, as a relay does.
        stream.setFlushedLSN(stream.getLastReceiveLSN());
        stream.setAppliedLSN(stream.getLastReceiveLSN());
      }
    }
  }

  private static PGReplicationStream stream(Connection connection) throws SQLException {
    return connection
        .unwrap(PGConnection.class)
        .getReplicationAPI()
        .replicationStream()
        .logical()
        .withSlotName(SLOT)
        .withSlotOption("proto_version", "1")
        .withSlotOption("publication_names", "payrelay_outbox")
        .withStatusInterval(STATUS_INTERVAL_S, TimeUnit.SECONDS)
        .start();
  }

  private static Properties replication(String user) {
    Properties properties = new Properties();
    PGProperty.USER.set(properties, user);
    PGProperty.PASSWORD.set(properties, "any");
    PGProperty.REPLICATION.set(properties, "database");
    PGProperty.ASSUME_MIN_SERVER_VERSION.set(properties, "15");
    PGProperty.PREFER_QUERY_MODE.set(properties, "simple");
    return properties;
  }

  private static long threadCpuNs() {
    return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
  }
}
