package io.payrelay.workbench.bench;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;

/**
 * Debezium Server with the outbox event router and the Kafka sink, set up as its documentation
 * shows: JSON, its own defaults, offsets flushed with each batch, a table with a primary key.
 */
final class DebeziumServerSubject implements Subject {

  private static final int PARTITIONS = 12;
  private static final String SLOT = "bench_peer";

  private final BenchServers servers;
  private final Path home;
  private final Path javaHome;
  private final int pollIntervalMs;

  DebeziumServerSubject(BenchServers servers, Path home, Path javaHome, int pollIntervalMs) {
    this.servers = servers;
    this.home = home;
    this.javaHome = javaHome;
    this.pollIntervalMs = pollIntervalMs;
  }

  /** The jar that a folder of the distribution has; empty where it is none. */
  static Optional<Path> runner(Path home) {
    try (Stream<Path> files = Files.list(home)) {
      return files.filter(file -> file.toString().endsWith("-runner.jar")).findAny();
    } catch (IOException e) {
      return Optional.empty();
    }
  }

  @Override
  public String name() {
    return String.format(Locale.ROOT, "Debezium Server, poll %d ms", pollIntervalMs);
  }

  @Override
  public EventTable table() {
    return EventTable.peer();
  }

  @Override
  public void prepare() {
    servers.execute(
        """
        CREATE SCHEMA IF NOT EXISTS peer;
        DROP TABLE IF EXISTS peer.outbox;
        CREATE TABLE peer.outbox (
          id uuid PRIMARY KEY,
          aggregatetype varchar(255) NOT NULL,
          aggregateid varchar(255) NOT NULL,
          type varchar(255) NOT NULL,
          payload jsonb);
        DROP PUBLICATION IF EXISTS bench_peer;
        CREATE PUBLICATION bench_peer FOR TABLE peer.outbox""");
    servers.execute("SELECT pg_create_logical_replication_slot('%s', 'pgoutput')".formatted(SLOT));
    try (Admin admin = Admin.create(servers.kafka().clientProperties("payrelay-bench-peer"))) {
      if (!admin.listTopics().names().get().contains(table().topic())) {
        admin
            .createTopics(List.of(new NewTopic(table().topic(), PARTITIONS, (short) 1)))
            .all()
            .get();
      }
    } catch (ExecutionException e) {
      throw new PayrelayException(Category.FATAL, "The peer's topic cannot be made", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new PayrelayException(Category.RETRIABLE, "Interrupted", e);
    }
  }

  @Override
  public BenchProcess start() {
    Path folder = servers.folder().resolve("peer-" + pollIntervalMs);
    try {
      Files.createDirectories(folder.resolve("config"));
      Files.createDirectories(folder.resolve("data"));
      Files.writeString(folder.resolve("config/application.properties"), configuration());
    } catch (IOException e) {
      throw new PayrelayException(Category.FATAL, folder + " cannot be written", e);
    }
    Path runner =
        runner(home)
            .orElseThrow(
                () ->
                    new PayrelayException(
                        Category.FATAL, home + " holds no Debezium Server: no *-runner.jar"));
    return BenchProcess.start(
        folder,
        "debezium-server",
        List.of(
            javaHome.resolve("bin/java").toString(),
            "--add-opens",
            "java.base/java.lang=ALL-UNNAMED",
            "-cp",
            runner + File.pathSeparator + home.resolve("lib") + "/*",
            "io.debezium.server.Main"),
        Map.of());
  }

  @Override
  public void cleanUp() {
    servers.execute(
        """
        SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots
          WHERE slot_name = '%1$s' AND active_pid IS NOT NULL"""
            .formatted(SLOT));
    servers.execute("SELECT pg_drop_replication_slot('%s')".formatted(SLOT));
    servers.execute("DROP TABLE peer.outbox");
  }

  private String configuration() {
    URI database = URI.create(servers.jdbcUrl().substring("jdbc:".length()));
    return """
        debezium.sink.type=kafka
        debezium.sink.kafka.producer.bootstrap.servers=%s
        debezium.sink.kafka.producer.key.serializer=org.apache.kafka.common.serialization.StringSerializer
        debezium.sink.kafka.producer.value.serializer=org.apache.kafka.common.serialization.StringSerializer
        debezium.source.connector.class=io.debezium.connector.postgresql.PostgresConnector
        debezium.source.offset.storage.file.filename=data/offsets.dat
        debezium.source.offset.flush.interval.ms=0
        debezium.source.database.hostname=%s
        debezium.source.database.port=%d
        debezium.source.database.user=%s
        debezium.source.database.password=any
        debezium.source.database.dbname=%s
        debezium.source.topic.prefix=peer
        debezium.source.table.include.list=peer.outbox
        debezium.source.plugin.name=pgoutput
        debezium.source.slot.name=%s
        debezium.source.publication.name=bench_peer
        debezium.source.publication.autocreate.mode=disabled
        debezium.source.snapshot.mode=no_data
        debezium.source.tombstones.on.delete=false
        debezium.source.poll.interval.ms=%d
        debezium.transforms=outbox
        debezium.transforms.outbox.type=io.debezium.transforms.outbox.EventRouter
        debezium.format.key=json
        debezium.format.key.schemas.enable=false
        debezium.format.value=json
        debezium.format.value.schemas.enable=false
        debezium.format.header=json
        debezium.format.header.schemas.enable=false
        quarkus.log.console.json=false
        quarkus.http.host=127.0.0.1
        quarkus.http.port=0
        """
        .formatted(
            servers.bootstrapServers(),
            database.getHost(),
            database.getPort(),
            servers.owner(),
            database.getPath().substring(1),
            SLOT,
            pollIntervalMs);
  }
}
