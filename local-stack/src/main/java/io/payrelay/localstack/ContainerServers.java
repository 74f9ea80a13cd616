package io.payrelay.localstack;

import static io.payrelay.localstack.ExternalServers.BOOTSTRAP_SERVERS;
import static io.payrelay.localstack.ExternalServers.DATABASE_PASSWORD;
import static io.payrelay.localstack.ExternalServers.DATABASE_URL;
import static io.payrelay.localstack.ExternalServers.DATABASE_USER;

import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.containers.GenericContainer;
import org.testcontainers.containers.wait.strategy.Wait;
import org.testcontainers.utility.DockerImageName;

/** Servers in containers; once started they are treated as external ones. */
final class ContainerServers implements TestServers {
  private static final DockerImageName POSTGRES = DockerImageName.parse("postgres:17");
  private static final DockerImageName KAFKA = DockerImageName.parse("apache/kafka:4.3.0");
  private static final int POSTGRES_PORT = 5432;

  private @Nullable GenericContainer<?> postgres;
  private @Nullable GenericContainer<?> kafka;

  static boolean dockerAnswers() {
    return DockerClientFactory.instance().isDockerAvailable();
  }

  @Override
  public Postgres postgres() {
    requireDocker();
    GenericContainer<?> container =
        new GenericContainer<>(POSTGRES)
            .withExposedPorts(POSTGRES_PORT)
            .withEnv("POSTGRES_USER", PostgresCluster.SUPERUSER)
            .withEnv("POSTGRES_PASSWORD", PostgresCluster.SUPERUSER)
            .withCommand(
                "postgres",
                "-c",
                "wal_level=logical",
                "-c",
                "max_wal_senders=30",
                "-c",
                "max_replication_slots=30",
                "-c",
                "max_connections=200",
                "-c",
                "timezone=UTC")
            // The image starts once for its set-up and then again for good.
            .waitingFor(Wait.forLogMessage(".*ready to accept connections.*\\n", 2));
    postgres = container;
    container.start();
    String url =
        "jdbc:postgresql://"
            + container.getHost()
            + ":"
            + container.getMappedPort(POSTGRES_PORT)
            + "/"
            + PostgresCluster.SUPERUSER;
    return new ExternalServers(
            Map.of(
                DATABASE_URL,
                url,
                DATABASE_USER,
                PostgresCluster.SUPERUSER,
                DATABASE_PASSWORD,
                PostgresCluster.SUPERUSER))
        .postgres();
  }

  @Override
  public String kafka() {
    requireDocker();
    // The broker must advertise the port by which it is reached, so that is chosen beforehand.
    int port = Ports.free();
    String host = DockerClientFactory.instance().dockerHostIpAddress();
    GenericContainer<?> container = new GenericContainer<>(KAFKA);
    container.setPortBindings(List.of(port + ":" + port));
    KafkaSettings.inContainer(host, port)
        .forEach(
            (name, value) ->
                container.addEnv("KAFKA_" + KafkaSettings.environmentName(name), value));
    container.waitingFor(Wait.forLogMessage(".*Kafka Server started.*\\n", 1));
    kafka = container;
    container.start();
    return new ExternalServers(Map.of(BOOTSTRAP_SERVERS, host + ":" + port)).kafka();
  }

  @Override
  public void close() {
    try {
      if (kafka != null) {
        kafka.stop();
      }
    } finally {
      if (postgres != null) {
        postgres.stop();
      }
    }
  }

  private static void requireDocker() {
    if (!dockerAnswers()) {
      throw new LocalStackException(
          "No Docker engine answers, which -Dpayrelay.infra=containers needs. Use embedded.");
    }
  }
}
