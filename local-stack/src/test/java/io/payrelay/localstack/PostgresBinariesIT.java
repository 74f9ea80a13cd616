package io.payrelay.localstack;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class PostgresBinariesIT {
  @TempDir Path cache;

  @Test
  void unpacksOneCompleteCopyWhenTwoRace() throws Exception {
    CompletableFuture<Path> first = CompletableFuture.supplyAsync(this::unpack);
    CompletableFuture<Path> second = CompletableFuture.supplyAsync(this::unpack);

    assertThat(first.join()).isEqualTo(second.join());

    assertThat(first.join().resolve("bin/postgres")).isExecutable();
    try (Stream<Path> entries = Files.list(cache)) {
      assertThat(entries).containsExactly(first.join());
    }
  }

  private Path unpack() {
    try {
      return PostgresBinaries.home(cache);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
