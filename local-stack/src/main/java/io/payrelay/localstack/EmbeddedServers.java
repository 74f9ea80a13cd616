package io.payrelay.localstack;

import org.jspecify.annotations.Nullable;

/** Servers of this process in temporary directories. */
final class EmbeddedServers implements TestServers {
  private @Nullable LocalPostgres postgres;
  private @Nullable LocalKafka kafka;

  @Override
  public Postgres postgres() {
    LocalPostgres started = LocalPostgres.builder().closeOnExit(false).start();
    postgres = started;
    return new Postgres(started.jdbcUrl(), started.user(), started.password());
  }

  @Override
  public String kafka() {
    LocalKafka started = LocalKafka.builder().closeOnExit(false).start();
    kafka = started;
    return started.bootstrapServers();
  }

  @Override
  public void close() {
    try {
      if (kafka != null) {
        kafka.close();
      }
    } finally {
      if (postgres != null) {
        postgres.close();
      }
    }
  }
}
