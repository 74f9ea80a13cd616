package io.payrelay.schemas;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.apache.avro.Schema;
import org.apache.avro.SchemaCompatibility;
import org.apache.avro.SchemaCompatibility.SchemaCompatibilityType;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Every schema that was published is kept under avro-history. Consumers and the relay are updated
 * at different times, so old readers must take new records and new readers old ones.
 */
class SchemaCompatibilityTest {

  private static final Path HISTORY = Path.of("src/test/resources/avro-history");

  static Stream<EventType> types() {
    return EventCatalogue.builtIn().all().stream();
  }

  @ParameterizedTest
  @MethodSource("types")
  void readsAndIsReadByEveryPublishedSchema(EventType type) throws IOException {
    List<Path> published = published(type);

    assertThat(published).as("published schemas of " + type.name()).isNotEmpty();
    for (Path file : published) {
      assertThat(compatible(type.schema(), parse(Files.readString(file))))
          .as("%s is compatible both ways with %s", type.name(), file)
          .isTrue();
    }
  }

  @ParameterizedTest
  @MethodSource("types")
  void isItselfPublished(EventType type) throws IOException {
    List<Schema> published =
        published(type).stream().map(file -> parse(SchemaCompatibilityTest.read(file))).toList();

    // A changed schema gets a further file: what is published is never edited.
    assertThat(published).contains(type.schema());
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{\"name\": \"currency\", \"type\": \"string\"}, | | field removed",
        "\"amount_minor\", \"type\": \"long\" | \"amount_minor\", \"type\": \"string\" | type changed",
        "\"amount_minor\", \"type\": \"long\" | \"amount_minor\", \"type\": \"int\" | type narrowed",
        "\"amount_minor\" | \"amount\" | field renamed",
        "\"fields\": [ | \"fields\": [{\"name\": \"more\", \"type\": \"string\"}, | field added without default",
        "\"OLD\", \"MORE\"] | \"OLD\", \"MORE\", \"NEW\"] | symbol added to an enum without default",
        "\"OLD\", \"MORE\"] | \"OLD\"] | symbol removed from an enum without default",
      })
  void wouldNoticeABreakingChange(String before, String after, String change) {
    String old =
        """
        {"type": "record", "name": "E", "fields": [{"name": "currency", "type": "string"},
          {"name": "amount_minor", "type": "long"},
          {"name": "kind", "type": {"type": "enum", "name": "K", "symbols": ["OLD", "MORE"]}}]}
        """;
    String changed = old.replace(before, after == null ? "" : after);

    assertThat(changed).isNotEqualTo(old);
    assertThat(compatible(parse(changed), parse(old))).as(change).isFalse();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "\"fields\": [ | \"fields\": [{\"name\": \"more\", \"type\": [\"null\", \"string\"], \"default\": null},",
        "\"OLD\", \"MORE\"] | \"OLD\", \"MORE\", \"NEW\"]",
      })
  void allowsWhatBothSidesCanRead(String before, String after) {
    String old =
        """
        {"type": "record", "name": "E", "fields": [{"name": "kind", "type":
          {"type": "enum", "name": "K", "symbols": ["OLD", "MORE"], "default": "OLD"}}]}
        """;

    assertThat(compatible(parse(old.replace(before, after)), parse(old))).isTrue();
  }

  private static boolean compatible(Schema one, Schema other) {
    return reads(one, other) && reads(other, one);
  }

  private static boolean reads(Schema reader, Schema writer) {
    return SchemaCompatibility.checkReaderWriterCompatibility(reader, writer).getType()
        == SchemaCompatibilityType.COMPATIBLE;
  }

  private static List<Path> published(EventType type) throws IOException {
    try (Stream<Path> files = Files.list(HISTORY.resolve(type.name()))) {
      return files.filter(file -> file.toString().endsWith(".avsc")).sorted().toList();
    }
  }

  private static String read(Path file) {
    try {
      return Files.readString(file);
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  private static Schema parse(String text) {
    return new Schema.Parser().parse(text);
  }
}
