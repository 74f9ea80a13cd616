package io.payrelay.systemtests;

import static org.assertj.core.api.Assertions.assertThat;

import io.payrelay.app.AppSettings;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Documents that a machine can hold to the code. */
final class DocumentsTest {

  private static final Path ROOT = Path.of("..");

  private static final Pattern VALUE_OR_STOP = Pattern.compile("%,?[sd]|[:,(`]");

  /** Shorter pieces between two values are in any text. */
  private static final int TELLING_LENGTH = 10;

  @Test
  void theConfigurationTableIsWhatTheCodeReads() throws IOException {
    assertThat(Files.readString(ROOT.resolve("docs/configuration.md")))
        .as("run `./payrelay config` and paste its table into docs/configuration.md")
        .contains(AppSettings.table());
  }

  @Test
  void theReadmeIsShortAndNamesTheTwoCommands() throws IOException {
    List<String> readme = Files.readAllLines(ROOT.resolve("README.md"));

    assertThat(readme).hasSizeLessThanOrEqualTo(150).contains("./payrelay demo", "mvn verify");
  }

  @Test
  void everyLinkToAFileLeadsSomewhere() throws IOException {
    Pattern link = Pattern.compile("\\]\\(([^)#:]+)\\)");
    List<Path> documents =
        new java.util.ArrayList<>(
            List.of(ROOT.resolve("README.md"), ROOT.resolve("ARCHITECTURE.md")));
    try (var files = Files.list(ROOT.resolve("docs"))) {
      files.filter(file -> file.toString().endsWith(".md")).forEach(documents::add);
    }

    for (Path document : documents) {
      Matcher matcher = link.matcher(Files.readString(document));
      while (matcher.find()) {
        assertThat(document.resolveSibling(matcher.group(1))).as("link in %s", document).exists();
      }
    }
  }

  /**
   * What a relay refuses with, and what sends somebody to recover: the beginning, up to a value.
   */
  @Test
  void everySentenceWithWhichTheRelayRefusesIsInItsHandbook() throws IOException {
    String handbook = Files.readString(ROOT.resolve("docs/relay.md"));
    String text = "\"((?:[^\"\\\\]|\\\\.)*)\"";
    Pattern refusal =
        Pattern.compile(
            "(?:refused\\(|Category\\.FATAL,)\\s*"
                + text
                + "|\"([A-Z][^\"]*run `payrelay relay recover[^\"]*)\"");
    int found = 0;
    try (var files = Files.list(ROOT.resolve("relay/src/main/java/io/payrelay/relay"))) {
      for (Path source : files.sorted().toList()) {
        Matcher matcher = refusal.matcher(Files.readString(source));
        while (matcher.find()) {
          String sentence = matcher.group(1) == null ? matcher.group(2) : matcher.group(1);
          Optional<String> start =
              VALUE_OR_STOP
                  .splitAsStream(sentence)
                  .map(String::strip)
                  .filter(part -> part.length() >= TELLING_LENGTH)
                  .findFirst();
          if (start.isPresent()) {
            found++;
            assertThat(handbook).as("%s of %s", sentence, source).contains(start.get());
          }
        }
      }
    }
    assertThat(found).isGreaterThan(40);
  }
}
