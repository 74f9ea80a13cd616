package io.payrelay.schemas;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class MigrationFilesTest {

  private static List<String> names() throws IOException {
    try (Stream<Path> files = Files.list(Path.of("src/main/resources/db/migration"))) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    }
  }

  @Test
  void latestIsTheNewestFile() throws IOException {
    List<String> names = names();

    assertThat(names.get(names.size() - 1)).startsWith("V" + Migrations.LATEST + "__");
  }

  @Test
  void namesAreNumberedWithoutGapsAndSayWhatTheyDo() throws IOException {
    List<String> names = names();

    assertThat(names).allMatch(name -> name.matches("V\\d{4}__[a-z0-9]+(_[a-z0-9]+)*\\.sql"));
    for (int i = 0; i < names.size(); i++) {
      assertThat(names.get(i)).startsWith("V%04d__".formatted(i + 1));
    }
  }
}
