package io.payrelay.localstack;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class LocalStackIT {
  @TempDir Path dir;

  @Test
  void keepsRowsRecordsAndClusterIdBetweenRuns() throws Exception {
    Path data = dir.resolve("data");
    String clusterId;
    String systemId;
    try (LocalStack stack = LocalStack.builder().dataDir(data).start()) {
      Sql.run(stack.postgres().jdbcUrl(), "create table kept (id int)");
      Sql.run(stack.postgres().jdbcUrl(), "insert into kept values (7)");
      Records.createTopic(stack.kafka().bootstrapServers(), "kept");
      Records.sendInTransaction(stack.kafka().bootstrapServers(), "kept", "a", "b");
      clusterId = stack.kafka().clusterId();
      systemId = systemId(stack);
    }

    try (LocalStack stack = LocalStack.builder().dataDir(data).start()) {
      assertThat(Sql.value(stack.postgres().jdbcUrl(), "select id from kept")).isEqualTo("7");
      assertThat(Records.readCommitted(stack.kafka().bootstrapServers(), "kept", 2))
          .containsExactly("a", "b");
      assertThat(stack.kafka().clusterId()).isEqualTo(clusterId);
      assertThat(systemId(stack)).isEqualTo(systemId);
    }
  }

  @Test
  void deletesItsTemporaryDirectoryOnClose() {
    Path log;
    try (LocalStack stack = LocalStack.builder().start()) {
      log = stack.postgres().log();
      assertThat(log).exists();
    }

    assertThat(log.getParent().getParent()).doesNotExist();
  }

  @Test
  void refusesADataDirectoryThatIsInUse() {
    try (LocalStack first = LocalStack.builder().dataDir(dir).start()) {
      assertThat(first.postgres().port()).isPositive();

      assertThatThrownBy(() -> LocalStack.builder().dataDir(dir).start())
          .isInstanceOf(LocalStackException.class)
          .hasMessageContaining(dir + " is in use by process " + ProcessHandle.current().pid());
    }
  }

  @Test
  void namesThePortThatIsInUseAndLeavesNothingRunning() throws Exception {
    try (ServerSocket taken =
        new ServerSocket(0, 1, InetAddress.getByAddress(new byte[] {127, 0, 0, 1}))) {
      int port = taken.getLocalPort();

      assertThatThrownBy(() -> LocalStack.builder().dataDir(dir).postgresPort(port).start())
          .isInstanceOf(LocalStackException.class)
          .hasMessageContaining("Port " + port + " on 127.0.0.1 is in use")
          .hasMessageContaining("PostgreSQL");
      assertThatThrownBy(() -> LocalStack.builder().dataDir(dir).kafkaPort(port).start())
          .isInstanceOf(LocalStackException.class)
          .hasMessageContaining("Port " + port + " on 127.0.0.1 is in use")
          .hasMessageContaining("Kafka");
    }

    try (LocalStack stack = LocalStack.builder().dataDir(dir).start()) {
      assertThat(Sql.value(stack.postgres().jdbcUrl(), "select 1")).isEqualTo("1");
    }
  }

  @Test
  void refusesADataDirectoryThatIsAFile() throws Exception {
    Path file = Files.createFile(dir.resolve("file"));

    assertThatThrownBy(() -> LocalStack.builder().dataDir(file).start())
        .isInstanceOf(LocalStackException.class)
        .hasMessageContaining("The data directory " + file + " cannot be used");
  }

  private static String systemId(LocalStack stack) throws Exception {
    return Sql.value(
        stack.postgres().jdbcUrl(), "select system_identifier from pg_control_system()");
  }
}
