package io.payrelay.localstack;

import java.util.Map;

/** Starts, or just knows, the servers of the tests. Each method is called once at most. */
interface TestServers extends AutoCloseable {
  Postgres postgres();

  String kafka();

  @Override
  void close();

  /** A database to connect to for making others, and the user that may. */
  record Postgres(String jdbcUrl, String user, String password) {}

  static TestServers of(InfraMode mode, Map<String, String> environment) {
    return switch (mode) {
      case EMBEDDED -> new EmbeddedServers();
      case CONTAINERS -> new ContainerServers();
      case EXTERNAL -> new ExternalServers(environment);
      case AUTO ->
          // Embedded is the same everywhere; containers only where it cannot be.
          !PostgresBinaries.available() && ContainerServers.dockerAnswers()
              ? new ContainerServers()
              : new EmbeddedServers();
    };
  }
}
