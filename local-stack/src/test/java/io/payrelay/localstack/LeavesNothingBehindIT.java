package io.payrelay.localstack;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(180)
class LeavesNothingBehindIT {
  private static final Duration STOPS_WITHIN = Duration.ofSeconds(20);

  @TempDir Path dir;

  @Test
  void recoversWithItsRowsAfterKill9OfTheJvm() throws Exception {
    Path data = dir.resolve("data");
    try (RunningStack running = RunningStack.start(dir, data.toString())) {
      Sql.run(running.jdbcUrl(), "create table kept as select generate_series(1, 1000)");
      assertThat(running.children()).isNotEmpty();
      assertThatThrownBy(() -> LocalStack.builder().dataDir(data).start())
          .hasMessageContaining("is in use by process");

      running.kill();

      // At once: the old server may still be stopping.
      try (LocalStack stack = LocalStack.builder().dataDir(data).start()) {
        assertThat(Sql.value(stack.postgres().jdbcUrl(), "select count(*) from kept"))
            .isEqualTo("1000");
      }
      await().atMost(STOPS_WITHIN).until(running::nothingLeft);
    }
  }

  @Test
  void deletesItsTemporaryDirectoryAfterKill9OfTheJvm() throws Exception {
    try (RunningStack running = RunningStack.start(dir)) {
      assertThat(stackDirectories()).isEqualTo(1);

      running.kill();

      await().atMost(STOPS_WITHIN).until(running::nothingLeft);
      await().atMost(STOPS_WITHIN).until(() -> stackDirectories() == 0);
    }
  }

  @Test
  void stopsEverythingWhenTheJvmIsTerminated() throws Exception {
    try (RunningStack running = RunningStack.start(dir)) {
      running.terminate();

      await().atMost(STOPS_WITHIN).until(running::nothingLeft);
      assertThat(stackDirectories()).isZero();
    }
  }

  private long stackDirectories() throws Exception {
    try (Stream<Path> entries = Files.list(dir)) {
      return entries.filter(path -> path.getFileName().toString().startsWith("payrelay-")).count();
    }
  }
}
