package io.payrelay.schemas;

import static org.assertj.core.api.Assertions.assertThat;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.dataformat.yaml.YAMLMapper;
import java.io.IOException;
import java.io.InputStream;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.avro.Schema;
import org.junit.jupiter.api.Test;

class AsyncApiTest {

  private final JsonNode api = read();

  private static JsonNode read() {
    try (InputStream in = AsyncApiTest.class.getResourceAsStream("/asyncapi.yaml")) {
      return new YAMLMapper().readTree(in);
    } catch (IOException e) {
      throw new java.io.UncheckedIOException(e);
    }
  }

  private Map<String, JsonNode> channelsByTopic() {
    Map<String, JsonNode> channels = new HashMap<>();
    api.path("channels")
        .forEach(channel -> channels.put(channel.path("address").asText(), channel));
    return channels;
  }

  @Test
  void isAsyncApi3() {
    assertThat(api.path("asyncapi").asText()).isEqualTo("3.0.0");
    assertThat(api.path("info").path("title").asText()).isNotEmpty();
    assertThat(api.path("info").path("version").asText()).isNotEmpty();
  }

  @Test
  void describesEveryTopicAsMigrateMakesIt() {
    Map<String, JsonNode> channels = channelsByTopic();
    Set<String> topics = new TreeSet<>();
    for (Topic topic : Topic.all()) {
      topics.add(topic.name());
      checkTopic(topic, channels.get(topic.name()));
    }
    Topic position = Topic.relayPosition("{slot}");
    topics.add(position.name());
    checkTopic(position, channels.get(position.name()));

    assertThat(channels.keySet()).isEqualTo(topics);
  }

  private static void checkTopic(Topic topic, JsonNode channel) {
    assertThat(channel).as(topic.name()).isNotNull();
    JsonNode kafka = channel.path("bindings").path("kafka");
    assertThat(kafka.path("partitions").asInt()).as(topic.name()).isEqualTo(topic.partitions());
    Map<String, String> configuration = new HashMap<>();
    for (Map.Entry<String, JsonNode> entry : kafka.path("topicConfiguration").properties()) {
      JsonNode value = entry.getValue();
      configuration.put(entry.getKey(), value.isArray() ? value.get(0).asText() : value.asText());
    }
    assertThat(configuration).as(topic.name()).isEqualTo(topic.configuration());
  }

  @Test
  void describesEveryEventTypeOnItsTopic() throws IOException {
    Map<String, JsonNode> channels = channelsByTopic();
    Set<String> known = new TreeSet<>();
    for (EventType type : EventCatalogue.builtIn().all()) {
      known.add(type.name());
      JsonNode message = channels.get(type.topic()).path("messages").path(type.name());
      assertThat(message.path("$ref").asText()).isEqualTo("#/components/messages/" + type.name());
      checkMessage(type);
    }
    Set<String> described = new TreeSet<>();
    channels
        .values()
        .forEach(c -> c.path("messages").fieldNames().forEachRemaining(described::add));

    assertThat(described).isEqualTo(known);
  }

  private void checkMessage(EventType type) throws IOException {
    JsonNode message = api.path("components").path("messages").path(type.name());
    assertThat(message.path("name").asText()).isEqualTo(type.name());
    String file = message.path("payload").path("schema").path("$ref").asText();
    try (InputStream in = AsyncApiTest.class.getResourceAsStream("/" + file)) {
      assertThat(new Schema.Parser().parse(in)).isEqualTo(type.schema());
    }
  }

  @Test
  void resolvesEveryReference() {
    List<JsonNode> references = api.findValues("$ref");

    assertThat(references).isNotEmpty();
    for (JsonNode reference : references) {
      String text = reference.asText();
      if (text.startsWith("#")) {
        assertThat(api.at(text.substring(1)).isMissingNode()).as(text).isFalse();
      } else {
        assertThat(AsyncApiTest.class.getResource("/" + text)).as(text).isNotNull();
      }
    }
  }

  @Test
  void namesTheHeadersOfCloudEvents() {
    assertThat(api.at("/components/schemas/EventHeaders/required"))
        .extracting(JsonNode::asText)
        .contains("ce_id", "ce_type", "ce_source", "ce_subject", "ce_time", "content-type");
  }
}
