package io.payrelay.localstack;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(120)
class LocalPostgresIT {
  @TempDir Path dir;

  @ParameterizedTest
  @CsvSource({
    "fsync, on",
    "synchronous_commit, on",
    "full_page_writes, on",
    "wal_level, logical",
    "max_wal_senders, 30",
    "max_replication_slots, 30",
    "max_connections, 200",
    "listen_addresses, 127.0.0.1",
    "log_timezone, UTC",
    "server_encoding, UTF8"
  })
  void isDurableAndDecodesLogically(String setting, String value) throws Exception {
    TestDatabase database = TestInfra.shared().newDatabase();

    assertThat(Sql.value(database.jdbcUrl(), "show " + setting)).isEqualTo(value);
  }

  @Test
  void keepsCommittedRowsOverACrashOnTheSamePort() throws Exception {
    try (LocalPostgres postgres = LocalPostgres.builder().start()) {
      String url = postgres.jdbcUrl();
      Sql.run(url, "create table kept as select generate_series(1, 1000)");

      postgres.kill();
      assertThatThrownBy(() -> Sql.value(url, "select 1")).hasMessageContaining("refused");
      postgres.start();

      assertThat(Sql.value(url, "select count(*) from kept")).isEqualTo("1000");
      assertThat(Files.readString(postgres.log())).contains("automatic recovery in progress");
    }
  }

  @Test
  void restartsOnTheSamePort() throws Exception {
    try (LocalPostgres postgres = LocalPostgres.builder().setting("work_mem", "7MB").start()) {
      postgres.createDatabase("another \"one\"");

      postgres.restart();

      assertThat(Sql.value(postgres.jdbcUrl(), "show work_mem")).isEqualTo("7MB");
      assertThat(Sql.value(postgres.jdbcUrl(), "select count(*) from pg_database")).isEqualTo("5");
    }
  }

  @Test
  void saysWhatTheServerSaidWhenItDoesNotStart() {
    assertThatThrownBy(() -> LocalPostgres.builder().setting("wal_level", "nonsense").start())
        .isInstanceOf(LocalStackException.class)
        .hasMessageContaining("PostgreSQL did not start")
        .hasMessageContaining("invalid value for parameter \"wal_level\"");
  }

  @Test
  void refusesDataOfAnotherVersion() throws Exception {
    Files.createDirectory(dir.resolve("data"));
    Files.writeString(dir.resolve("data/PG_VERSION"), "14\n");

    assertThatThrownBy(() -> LocalPostgres.builder().dataDir(dir).start())
        .hasMessageContaining("holds data of PostgreSQL 14, this is 17");
  }

  @Test
  void startsOverAPidFileWhoseProcessIsNotPostgres() throws Exception {
    try (LocalPostgres postgres = LocalPostgres.builder().dataDir(dir).start()) {
      postgres.kill();
      Path pidFile = dir.resolve("data/postmaster.pid");
      List<String> lines = Files.readAllLines(pidFile);
      lines.set(0, Long.toString(ProcessHandle.current().pid()));
      Files.write(pidFile, lines);

      postgres.start();

      assertThat(Sql.value(postgres.jdbcUrl(), "select 1")).isEqualTo("1");
    }
  }
}
