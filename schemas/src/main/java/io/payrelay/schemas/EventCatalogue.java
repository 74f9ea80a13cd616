package io.payrelay.schemas;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collection;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.regex.Pattern;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;

/**
 * Every known event type by name: the built-in ones, and those of {@code PAYRELAY_SCHEMAS_DIR}, a
 * folder with an {@code event-catalogue.json} and the {@code .avsc} files it names. Immutable.
 */
public final class EventCatalogue {

  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String CATALOGUE_FILE = "event-catalogue.json";

  /** As the table event_type demands it. */
  private static final Pattern EVENT_TYPE = Pattern.compile("[A-Z][0-9A-Za-z]{0,63}");

  private static final Pattern TOPIC = Pattern.compile("(?!\\.{1,2}$)[0-9A-Za-z._-]{1,249}");

  private final Map<String, EventType> types;

  private EventCatalogue(Map<String, EventType> types) {
    this.types = Collections.unmodifiableMap(types);
  }

  /** The built-in event types. */
  public static EventCatalogue builtIn() {
    Map<String, EventType> types = new LinkedHashMap<>();
    addAll(types, "/" + CATALOGUE_FILE, name -> resource("/avro/" + name), false);
    return new EventCatalogue(types);
  }

  /**
   * The built-in event types and those of a folder.
   *
   * @param folder empty path: none
   * @throws IllegalArgumentException naming the file and what is wrong with it
   */
  public static EventCatalogue withFolder(Path folder) {
    EventCatalogue builtIn = builtIn();
    if (folder.toString().isEmpty()) {
      return builtIn;
    }
    Map<String, EventType> types = new LinkedHashMap<>(builtIn.types);
    addAll(types, folder.resolve(CATALOGUE_FILE).toString(), name -> file(folder, name), true);
    return new EventCatalogue(types);
  }

  /** The type of that name, if it is known. */
  public Optional<EventType> find(String eventType) {
    return Optional.ofNullable(types.get(eventType));
  }

  /** All of them, the built-in ones first. */
  public Collection<EventType> all() {
    return types.values();
  }

  /** Topics that some type goes to and that are not among {@link Topic#all()}. */
  public Collection<Topic> ownTopics() {
    TreeSet<String> names = new TreeSet<>();
    types.values().forEach(type -> names.add(type.topic()));
    Topic.all().forEach(topic -> names.remove(topic.name()));
    return names.stream().map(Topic::forEvents).toList();
  }

  private interface Opener {
    InputStream open(String name) throws IOException;
  }

  private static void addAll(
      Map<String, EventType> types, String catalogue, Opener opener, boolean fromFolder) {
    String reading = catalogue;
    try (InputStream in =
        fromFolder ? Files.newInputStream(Path.of(catalogue)) : resource(catalogue)) {
      JsonNode entries = JSON.readTree(in);
      if (!entries.isArray()) {
        throw new IllegalArgumentException(catalogue + " is not a JSON array of event types");
      }
      for (JsonNode entry : entries) {
        String schemaFile = text(entry, "schema", catalogue);
        reading = schemaFile;
        EventType type = read(entry, schemaFile, opener, catalogue, fromFolder);
        if (types.putIfAbsent(type.name(), type) != null) {
          throw new IllegalArgumentException(
              catalogue + " names event type " + type.name() + ", which exists already");
        }
      }
    } catch (IOException | AvroRuntimeException e) {
      throw new IllegalArgumentException(reading + " cannot be read: " + e.getMessage(), e);
    }
  }

  private static EventType read(
      JsonNode entry, String schemaFile, Opener opener, String catalogue, boolean fromFolder)
      throws IOException {
    try (InputStream in = opener.open(schemaFile)) {
      Schema schema = new Schema.Parser().parse(in);
      if (schema.getType() != Schema.Type.RECORD) {
        throw new IllegalArgumentException(schemaFile + " is not the schema of a record");
      }
      // What an operator adds is his upstreams' to write: nothing of Payrelay's own comes from a
      // folder.
      boolean upstream = fromFolder || entry.path("upstream").asBoolean(false);
      String name = text(entry, "event_type", catalogue);
      String topic = text(entry, "topic", catalogue);
      if (!EVENT_TYPE.matcher(name).matches()) {
        throw new IllegalArgumentException(
            catalogue + " names event type " + name + ", which is not of the form " + EVENT_TYPE);
      }
      if (!TOPIC.matcher(topic).matches() || (fromFolder && ownedByPayrelay(topic))) {
        throw new IllegalArgumentException(
            "%s sends %s to topic %s, which is no topic name or is Payrelay's own"
                .formatted(catalogue, name, topic));
      }
      return new EventType(name, schema, topic, upstream);
    }
  }

  /** Whoever may write there could forge a status event or the relay's position. */
  private static boolean ownedByPayrelay(String topic) {
    return topic.startsWith(Topic.RELAY_POSITION_PREFIX)
        || Topic.all().stream().anyMatch(own -> own.name().equals(topic));
  }

  private static String text(JsonNode entry, String field, String catalogue) {
    JsonNode value = entry.path(field);
    if (!value.isTextual() || value.textValue().isBlank()) {
      throw new IllegalArgumentException(catalogue + " has an entry without " + field);
    }
    return value.textValue();
  }

  private static InputStream file(Path folder, String name) throws IOException {
    Path path = folder.resolve(name).normalize();
    if (!path.startsWith(folder.normalize())) {
      throw new IllegalArgumentException(name + " lies outside " + folder);
    }
    return Files.newInputStream(path);
  }

  private static InputStream resource(String name) {
    InputStream in = EventCatalogue.class.getResourceAsStream(name);
    if (in == null) {
      throw new UncheckedIOException(new IOException("resource " + name + " is missing"));
    }
    return in;
  }
}
