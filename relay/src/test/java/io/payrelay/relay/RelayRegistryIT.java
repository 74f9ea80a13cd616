package io.payrelay.relay;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.apicurio.registry.rest.client.RegistryClient;
import io.apicurio.registry.rest.client.RegistryClientFactory;
import io.apicurio.registry.rest.v2.beans.Rule;
import io.apicurio.registry.serde.SerdeConfig;
import io.apicurio.registry.serde.avro.AvroKafkaDeserializer;
import io.apicurio.registry.types.RuleType;
import io.payrelay.platform.config.Secret;
import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.platform.kafka.HeaderValues;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.EventCodec;
import io.payrelay.schemas.EventType;
import io.payrelay.schemas.Topic;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.SchemaBuilder;
import org.apache.avro.generic.GenericRecord;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.Timeout;

/** Confluent's framing against the real registry, read by that registry's own deserializer. */
@Timeout(240)
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
class RelayRegistryIT {

  private static final Duration LIMIT = Duration.ofSeconds(60);

  private static ApicurioServer registry;

  @BeforeAll
  static void start() throws IOException {
    registry = ApicurioServer.start();
  }

  @AfterAll
  static void stop() {
    registry.close();
  }

  @Test
  @Order(1)
  void everySchemaIsRegisteredOnceAndFoundByTheConfluentApi() throws Exception {
    // The same content twice: from here on Apicurio's global ids and content ids differ.
    EventCatalogue catalogue = EventCatalogue.builtIn();
    String schema = catalogue.find("ChargeRequested").orElseThrow().schema().toString();
    try (RegistryClient client = RegistryClientFactory.create(registry.url())) {
      for (String name : List.of("foreign-1", "foreign-2")) {
        client.createArtifact(null, name, new ByteArrayInputStream(schema.getBytes(UTF_8)));
      }
    }

    Map<String, Integer> ids = SchemaRegistry.register(config(), catalogue.all());

    assertThat(ids)
        .containsOnlyKeys(
            "ChargeRequested", "PaymentStatusChanged", "RefundRequested", "RefundStatusChanged");
    assertThat(SchemaRegistry.register(config(), catalogue.all())).isEqualTo(ids);
    assertThat(registry.confluentApi("/subjects"))
        .contains(
            "\"payrelay.charge-requests-io.payrelay.events.ChargeRequested\"",
            "\"payrelay.payment-status-io.payrelay.events.PaymentStatusChanged\"");
    for (Map.Entry<String, Integer> id : ids.entrySet()) {
      assertThat(registry.confluentApi("/schemas/ids/" + id.getValue())).contains(id.getKey());
    }
  }

  @Test
  @Order(2)
  void refusesASchemaThatTheSubjectsRuleForbids() throws Exception {
    EventType first = type(SchemaBuilder.record("Changed").fields().requiredInt("a").endRecord());
    EventType then = type(SchemaBuilder.record("Changed").fields().requiredLong("b").endRecord());
    SchemaRegistry.register(config(), List.of(first));
    Rule rule = new Rule();
    rule.setType(RuleType.COMPATIBILITY);
    rule.setConfig("BACKWARD");
    try (RegistryClient client = RegistryClientFactory.create(registry.url())) {
      client.createArtifactRule(null, SchemaRegistry.subject(first), rule);
    }

    assertThatThrownBy(() -> SchemaRegistry.register(config(), List.of(then)))
        .isInstanceOfSatisfying(
            PayrelayException.class, e -> assertThat(e.category()).isEqualTo(Category.FATAL))
        .hasMessageContaining("refuses the schema of Changed as subject own-topic-Changed")
        .hasMessageContaining("Incompatible");
  }

  @Test
  @Order(3)
  void anIndependentReaderReadsTheTopicAndTheRegistryMayDieAfterTheStart() throws Exception {
    Map<String, String> settings =
        Map.of(
            "PAYRELAY_RELAY_FRAMING",
            "confluent",
            "PAYRELAY_SCHEMA_REGISTRY_URL",
            registry.url() + "/apis/ccompat/v7");
    try (RelayFixture fixture = RelayFixture.shared(settings).prepared();
        KafkaConsumer<byte[], byte[]> consumer = fromNow(fixture);
        AvroKafkaDeserializer<GenericRecord> deserializer = new AvroKafkaDeserializer<>()) {
      deserializer.configure(
          Map.of(
              SerdeConfig.REGISTRY_URL,
              registry.url() + "/apis/registry/v2",
              SerdeConfig.ENABLE_CONFLUENT_ID_HANDLER,
              true,
              SerdeConfig.USE_ID,
              "contentId"),
          false);
      Relay relay = fixture.startActive();
      fixture.insertCommitted(4, 5);

      List<ConsumerRecord<byte[], byte[]>> records = read(consumer, 20);

      EventCodec own = new EventCodec(EventCatalogue.builtIn());
      for (ConsumerRecord<byte[], byte[]> record : records) {
        GenericRecord event =
            deserializer.deserialize(record.topic(), record.headers(), record.value());
        assertThat(event.getSchema().getFullName()).isEqualTo("io.payrelay.events.ChargeRequested");
        byte[] dataSchema = HeaderValues.last(record.headers(), EventCodec.DATA_SCHEMA);
        assertThat(own.decode(record.value(), dataSchema)).isEqualTo(event);
        assertThat(registry.confluentApi("/schemas/ids/" + id(record.value())))
            .contains("ChargeRequested");
      }
      withoutRegistry(fixture, relay, consumer);
    }
  }

  /** No record and no recovery asks the registry; a new process waits for it. */
  private static void withoutRegistry(
      RelayFixture fixture, Relay relay, KafkaConsumer<byte[], byte[]> consumer) throws Exception {
    registry.close();
    fixture.insertCommitted(1, 5);
    assertThat(read(consumer, 5)).hasSize(5);
    fixture.execute("SELECT pg_terminate_backend(" + fixture.slotPid() + ")");
    fixture.insertCommitted(1, 5);
    assertThat(read(consumer, 5)).hasSize(5);
    relay.close();

    Relay next = fixture.start();

    await()
        .atMost(LIMIT)
        .untilAsserted(
            () ->
                assertThat(next.readiness())
                    .contains("The schema registry at " + registry.url() + " does not answer"));
    assertThat(next.ended()).isNotDone();
  }

  private static int id(byte[] value) {
    assertThat(value[0]).isZero();
    return ByteBuffer.wrap(value).getInt(1);
  }

  private static EventType type(Schema schema) {
    return new EventType(schema.getName(), schema, "own-topic", true);
  }

  private static FramingConfig config() {
    return new FramingConfig(true, registry.url(), "", new Secret(""));
  }

  /** The topic is shared with other tests: only what comes from now on is ours. */
  private static KafkaConsumer<byte[], byte[]> fromNow(RelayFixture fixture) {
    KafkaConsumer<byte[], byte[]> consumer =
        new KafkaConsumer<>(fixture.kafka().consumerProperties("registry-test"));
    List<TopicPartition> partitions =
        consumer.partitionsFor(Topic.CHARGE_REQUESTS).stream()
            .map(info -> new TopicPartition(info.topic(), info.partition()))
            .toList();
    consumer.assign(partitions);
    consumer.seekToEnd(partitions);
    partitions.forEach(consumer::position);
    return consumer;
  }

  private static List<ConsumerRecord<byte[], byte[]>> read(
      KafkaConsumer<byte[], byte[]> consumer, int count) {
    List<ConsumerRecord<byte[], byte[]>> records = new ArrayList<>();
    await()
        .atMost(LIMIT)
        .until(
            () -> {
              consumer.poll(Duration.ofMillis(100)).forEach(records::add);
              return records.size() >= count;
            });
    return records;
  }
}
