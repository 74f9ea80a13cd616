package io.payrelay.relay;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.payrelay.localstack.LocalKafka;
import io.payrelay.localstack.TestDatabase;
import io.payrelay.localstack.TestInfra;
import io.payrelay.platform.errors.PayrelayException;
import io.payrelay.schemas.EventCatalogue;
import io.payrelay.schemas.EventCodec;
import io.payrelay.schemas.Topic;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(120)
class DeadLettersIT {

  private static final Duration LIMIT = Duration.ofSeconds(40);
  private static final String TOPIC = "orders.placed";
  private static final String PAYLOAD = "{\"order\": \"o-17\"}";

  @TempDir private Path folder;

  /** With an event type that the operator forgot at first, and its topic. */
  private EventCatalogue mended(RelayFixture fixture) throws Exception {
    try (Admin admin = Admin.create(fixture.kafka().clientProperties("admin"))) {
      Topics.ensure(admin, List.of(Topic.forEvents(TOPIC)));
    }
    Files.writeString(
        folder.resolve("event-catalogue.json"),
        "[{\"event_type\": \"OrderPlaced\", \"schema\": \"OrderPlaced.avsc\", \"topic\": \"%s\"}]"
            .formatted(TOPIC));
    Files.writeString(
        folder.resolve("OrderPlaced.avsc"),
        "{\"type\": \"record\", \"name\": \"OrderPlaced\", \"fields\": [{\"name\": \"order\", \"type\": \"string\"}]}");
    return EventCatalogue.withFolder(folder);
  }

  private static String unique() {
    return "order-" + UUID.randomUUID();
  }

  /** Writes an event that the running relay cannot encode; returns its id. */
  private static String poison(RelayFixture fixture, String aggregate, String payload)
      throws Exception {
    String eventId = UUID.randomUUID().toString();
    fixture.execute(
        """
        INSERT INTO payrelay.outbox (event_id, aggregate_type, aggregate_id, event_type, payload, trace_id)
        VALUES ('%s', 'order', '%s', 'OrderPlaced', '%s', 'trace-1')
        """
            .formatted(eventId, aggregate, payload));
    return eventId;
  }

  private static DeadLetter awaitOne(RelayFixture fixture, String aggregate) {
    return awaitSome(fixture, aggregate, 1).get(0);
  }

  private static List<DeadLetter> awaitSome(RelayFixture fixture, String aggregate, int count) {
    return await()
        .atMost(LIMIT)
        .until(
            () -> {
              try (DeadLetters fresh = fixture.deadLetters()) {
                return fresh.list(of(aggregate));
              }
            },
            found -> found.size() == count);
  }

  private static DeadLetters.Filter of(String aggregate) {
    return new DeadLetters.Filter(50, null, null, null, null, aggregate, false);
  }

  private static List<ConsumerRecord<byte[], byte[]>> read(
      RelayFixture fixture, String topic, String key) {
    List<ConsumerRecord<byte[], byte[]>> found = new ArrayList<>();
    try (KafkaConsumer<byte[], byte[]> consumer =
        new KafkaConsumer<>(fixture.kafka().consumerProperties("test"))) {
      List<TopicPartition> partitions =
          consumer.partitionsFor(topic).stream()
              .map(p -> new TopicPartition(p.topic(), p.partition()))
              .toList();
      consumer.assign(partitions);
      consumer.seekToBeginning(partitions);
      Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
      while (partitions.stream().anyMatch(p -> consumer.position(p) < ends.get(p))) {
        for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(100))) {
          if (record.key() != null && new String(record.key(), UTF_8).equals(key)) {
            found.add(record);
          }
        }
      }
    }
    return found;
  }

  private static String header(ConsumerRecord<byte[], byte[]> record, String name) {
    return new String(record.headers().lastHeader(name).value(), UTF_8);
  }

  @Test
  void afterAFixTheRowIsReadAgainAndSentOnceUnderItsEventId() throws Exception {
    String aggregate = unique();
    try (RelayFixture fixture = RelayFixture.shared().prepared()) {
      fixture.startActive();
      String eventId = poison(fixture, aggregate, PAYLOAD);
      DeadLetter letter = awaitOne(fixture, aggregate);
      assertThat(letter.isUnresolved()).isTrue();
      assertThat(letter.source()).isEqualTo("relay");
      assertThat(letter.reasonCode()).isEqualTo("unknown_type");
      assertThat(letter.eventId()).isEqualTo(eventId);
      assertThat(letter.eventType()).isEqualTo("OrderPlaced");

      try (DeadLetters desk = fixture.deadLetters()) {
        DeadLetters.Original original = desk.show(letter.id());
        assertThat(new String(original.payload(), UTF_8)).isEqualTo(PAYLOAD);
        assertThat(original.headers()).containsEntry("trace_id", "trace-1").containsKey("position");
        // Not mended yet.
        DeadLetters.Outcome notYet = desk.redrive(List.of(letter.id()), "me", "try", true).get(0);
        assertThat(notYet.done()).isFalse();
        assertThat(notYet.sentence()).contains("would be a dead letter again");
      }
      EventCatalogue mended = mended(fixture);
      try (DeadLetters desk = fixture.deadLetters(mended)) {
        assertThat(desk.redrive(List.of(letter.id()), "me", "schema added", false).get(0))
            .isEqualTo(new DeadLetters.Outcome(letter, false, "would be redriven to " + TOPIC));
        assertThat(read(fixture, TOPIC, aggregate)).isEmpty();

        assertThat(desk.redrive(List.of(letter.id()), "me", "schema added", true).get(0).done())
            .isTrue();
        DeadLetters.Outcome again =
            desk.redrive(List.of(letter.id()), "me", "by accident", true).get(0);
        assertThat(again.done()).isFalse();
        assertThat(again.sentence()).isEqualTo("is REDRIVEN already, by me: schema added");
      }

      List<ConsumerRecord<byte[], byte[]>> sent = read(fixture, TOPIC, aggregate);
      assertThat(sent).hasSize(1);
      assertThat(header(sent.get(0), "ce_id")).isEqualTo(eventId);
      assertThat(header(sent.get(0), "redriven")).isEqualTo(letter.id());
      assertThat(header(sent.get(0), "trace_id")).isEqualTo("trace-1");
      assertThat(new EventCodec(mended).decode(sent.get(0).value()).get("order"))
          .hasToString("o-17");
      assertThat(
              fixture.query(
                  "SELECT concat_ws('|', kind, resolved_by, why) FROM payrelay.dead_letter_resolution WHERE topic_offset = "
                      + letter.id()))
          .isEqualTo("REDRIVEN|me|schema added");
    }
  }

  @Test
  void twoAtOnceFenceEachOtherAndNothingIsSentTwice() throws Exception {
    String aggregate = unique();
    try (RelayFixture fixture = RelayFixture.shared().prepared()) {
      fixture.startActive();
      poison(fixture, aggregate, PAYLOAD);
      EventCatalogue mended = mended(fixture);
      DeadLetterSender slow =
          new DeadLetterSender(
              fixture.kafka(), mended, fixture.config.framing(), Clock.systemUTC());
      try (DeadLetters desk = fixture.deadLetters(mended);
          DeadLetterSender.Session first = slow.open()) {
        DeadLetter letter = awaitOne(fixture, aggregate);
        ProducerRecord<byte[], byte[]> record =
            new ProducerRecord<>(TOPIC, aggregate.getBytes(UTF_8), new byte[] {1});
        assertThat(desk.redrive(List.of(letter.id()), "second", "x", true).get(0).done()).isTrue();

        assertThatThrownBy(
                () ->
                    first.send(
                        record,
                        new DeadLetterSender.Marker(
                            new DeadLetterRecord.Resolution("t", 1, "REDRIVEN", "a", "b"),
                            null,
                            aggregate)))
            .isInstanceOf(PayrelayException.class);
      }

      assertThat(read(fixture, TOPIC, aggregate)).hasSize(1);
    }
  }

  @Test
  void theChargeWorkersGoBackToTheirTopicAsTheyWere() throws Exception {
    String aggregate = unique();
    try (RelayFixture fixture = RelayFixture.shared().prepared()) {
      byte[] value = {5, 6, 7};
      ProducerRecord<byte[], byte[]> letter =
          new ProducerRecord<>(Topic.DEAD_LETTER, aggregate.getBytes(UTF_8), value);
      letter
          .headers()
          .add("ce_type", "ChargeRequested".getBytes(UTF_8))
          .add("source", "charge-worker".getBytes(UTF_8))
          .add("reason", "no payment".getBytes(UTF_8))
          .add("original_topic", Topic.CHARGE_REQUESTS.getBytes(UTF_8))
          .add("position", "offset 3 of partition 1".getBytes(UTF_8))
          .add("payload_truncated", "false".getBytes(UTF_8));
      ProducerRecord<byte[], byte[]> elsewhere =
          new ProducerRecord<>(Topic.DEAD_LETTER, aggregate.getBytes(UTF_8), value);
      letter.headers().forEach(elsewhere.headers()::add);
      elsewhere.headers().remove("original_topic").add("original_topic", "x".getBytes(UTF_8));
      send(fixture, letter, elsewhere);

      try (DeadLetters desk = fixture.deadLetters()) {
        List<DeadLetter> found = awaitSome(fixture, aggregate, 2);
        List<DeadLetters.Outcome> outcomes =
            desk.redrive(found.stream().map(DeadLetter::id).toList(), "me", "fixed", true);

        assertThat(outcomes.get(0).sentence()).contains("no event type goes to topic x");
        assertThat(outcomes.get(1).done()).isTrue();
      }

      List<ConsumerRecord<byte[], byte[]>> sent = read(fixture, Topic.CHARGE_REQUESTS, aggregate);
      assertThat(sent).hasSize(1);
      assertThat(sent.get(0).value()).isEqualTo(value);
      assertThat(header(sent.get(0), "ce_type")).isEqualTo("ChargeRequested");
      assertThat(sent.get(0).headers().lastHeader("reason")).isNull();
    }
  }

  @Test
  void whatKafkaHasForgottenIsStillKnownAndWhatNobodyNotedIsAGap() throws Exception {
    String aggregate = unique();
    TestDatabase database = TestInfra.shared().newDatabase();
    // A broker of its own: what is deleted here is missed by recoveries of other tests.
    try (LocalKafka kafka = LocalKafka.builder().start();
        RelayFixture fixture =
            new RelayFixture(
                    database.jdbcUrl(), database.user(), kafka.bootstrapServers(), Map.of())
                .prepared()) {
      Relay relay = fixture.startActive();
      poison(fixture, aggregate, PAYLOAD);
      DeadLetter letter = awaitOne(fixture, aggregate);
      relay.close();
      try (Admin admin = Admin.create(fixture.kafka().clientProperties("admin"))) {
        ProducerRecord<byte[], byte[]> unseen =
            new ProducerRecord<>(Topic.DEAD_LETTER, aggregate.getBytes(UTF_8), new byte[1]);
        send(fixture, unseen);
        admin
            .deleteRecords(Map.of(DeadLetterLog.PARTITION, RecordsToDelete.beforeOffset(-1)))
            .all()
            .get();
      }

      try (DeadLetters desk = fixture.deadLetters(mended(fixture))) {
        assertThat(new String(desk.show(letter.id()).payload(), UTF_8)).isEqualTo(PAYLOAD);
        List<DeadLetter> gaps =
            desk.list(new DeadLetters.Filter(50, null, "gap", null, null, null, true));
        assertThat(gaps).hasSize(1);
        assertThat(gaps.get(0).reason()).contains("before they were noted");
        assertThat(desk.redrive(List.of(letter.id()), "me", "x", false).get(0).sentence())
            .isEqualTo("would be redriven to " + TOPIC);
        assertThat(desk.redrive(List.of(gaps.get(0).id()), "me", "x", false).get(0).sentence())
            .contains("cannot be redriven");
        assertThat(desk.discard(List.of(gaps.get(0).id()), "me", "looked", true).get(0).done())
            .isTrue();
        assertThat(desk.list(new DeadLetters.Filter(50, null, "gap", null, null, null, true)))
            .isEmpty();
      }
    }
  }

  @Test
  void whatKafkaLostIsNotedEachTimeAndHoldsUpTheOutboxAloneUntilSomebodyHasLooked()
      throws Exception {
    String aggregate = unique();
    try (RelayFixture fixture = RelayFixture.shared().prepared()) {
      String eventId = poison(fixture, aggregate, PAYLOAD);
      send(
          fixture,
          letter(aggregate, Map.of("source", "charge-worker", "reason", "a")),
          letter(aggregate, Map.of("source", "relay", "reason", "b", "ce_id", eventId)),
          letter(aggregate, Map.of("source", "charge-worker", "reason", "c")));
      List<DeadLetter> noted = awaitSome(fixture, aggregate, 3);
      List<String> ids = noted.stream().map(DeadLetter::id).toList();
      // As if an unclean election had lost a and b, and others had their offsets now.
      fixture.execute(
          """
          SET session_replication_role = replica;
          UPDATE payrelay.dead_letter SET dead_lettered_at = dead_lettered_at - interval '1 s'
          WHERE aggregate_id = '%s' AND reason <> 'c';
          UPDATE payrelay.dead_letter_progress SET next_offset = next_offset + 1000000
          """
              .formatted(aggregate));

      try (DeadLetters desk = fixture.deadLetters(mended(fixture))) {
        assertThat(desk.losses()).singleElement().asString().contains("Kafka lost offsets");
        List<DeadLetter> now = desk.list(of(aggregate));
        assertThat(now.stream().map(DeadLetter::id))
            .as("what lies there now is noted beside what is lost, and c once")
            .hasSize(5)
            .containsAll(ids)
            .filteredOn(id -> id.contains("~1/"))
            .hasSize(2);
        String lost = idOf(noted, "a");
        assertThat(desk.show(lost).lost()).contains("holds another one at its offset");
        assertThat(desk.show(lost).payload()).isNull();
        assertThat(desk.show(idOf(noted, "b")).payload()).asString(UTF_8).isEqualTo(PAYLOAD);

        Map<String, DeadLetters.Outcome> outcomes = new HashMap<>();
        for (DeadLetters.Outcome one : desk.redrive(ids, "me", "mended", true)) {
          outcomes.put(one.letter().reason(), one);
        }
        assertThat(outcomes.get("a").done()).isFalse();
        assertThat(outcomes.get("a").sentence()).contains("holds another one at its offset");
        assertThat(outcomes.get("b").sentence()).isEqualTo("redriven to " + TOPIC);
        assertThat(outcomes.get("c").sentence()).isEqualTo("redriven to " + Topic.CHARGE_REQUESTS);
      }
      assertThat(read(fixture, TOPIC, aggregate))
          .singleElement()
          .satisfies(sent -> assertThat(header(sent, "ce_id")).isEqualTo(eventId));

      fixture.execute(
          "UPDATE payrelay.dead_letter_progress SET next_offset = next_offset + 1000000"
              + " WHERE topic_id LIKE '%~1'");
      try (DeadLetters desk = fixture.deadLetters()) {
        assertThat(desk.losses()).as("a second loss").hasSize(2);
        assertThat(desk.list(of(aggregate))).as("nothing is noted again").hasSize(5);
        assertThat(holdsOutbox(fixture)).isTrue();
        List<String> gaps =
            desk.list(new DeadLetters.Filter(50, null, "gap", null, null, null, true)).stream()
                .map(DeadLetter::id)
                .toList();

        assertThat(desk.discard(gaps, "me", "looked", true)).allMatch(DeadLetters.Outcome::done);

        assertThat(desk.losses()).isEmpty();
        assertThat(holdsOutbox(fixture)).isFalse();
      }
      // As if the topic were another one than was read before.
      fixture.execute(
          """
          SET session_replication_role = replica;
          UPDATE payrelay.dead_letter SET topic_id = regexp_replace(topic_id, '^[^~]+', 'old');
          UPDATE payrelay.dead_letter_resolution SET topic_id = regexp_replace(topic_id, '^[^~]+', 'old');
          UPDATE payrelay.dead_letter_progress SET topic_id = regexp_replace(topic_id, '^[^~]+', 'old')
          """);
      for (int round = 0; round < 2; round++) {
        try (DeadLetters desk = fixture.deadLetters()) {
          assertThat(desk.losses()).singleElement().asString().contains("was made anew");
          assertThat(desk.show("old/" + ids.get(0)).lost()).contains("the topic was made anew");
        }
      }
    }
  }

  private static boolean holdsOutbox(RelayFixture fixture) throws Exception {
    return fixture.query("SELECT payrelay.outbox_partition_is_held('outbox_default')").equals("t");
  }

  private static String idOf(List<DeadLetter> letters, String reason) {
    return letters.stream()
        .filter(letter -> letter.reason().equals(reason))
        .findFirst()
        .orElseThrow()
        .id();
  }

  private static ProducerRecord<byte[], byte[]> letter(
      String aggregate, Map<String, String> headers) {
    ProducerRecord<byte[], byte[]> letter =
        new ProducerRecord<>(Topic.DEAD_LETTER, aggregate.getBytes(UTF_8), new byte[] {5});
    headers.forEach((name, value) -> letter.headers().add(name, value.getBytes(UTF_8)));
    letter.headers().add("original_topic", Topic.CHARGE_REQUESTS.getBytes(UTF_8));
    return letter;
  }

  @Test
  void anIdThatIsNoneIsToldApart() throws Exception {
    try (RelayFixture fixture = RelayFixture.shared().prepared();
        DeadLetters desk = fixture.deadLetters()) {
      assertThatThrownBy(() -> desk.show("999999999")).hasMessageContaining("no dead letter");
      assertThatThrownBy(() -> desk.show("x'; --")).hasMessageContaining("is not the id");
    }
  }

  @SafeVarargs
  private static void send(RelayFixture fixture, ProducerRecord<byte[], byte[]>... records)
      throws Exception {
    try (KafkaProducer<byte[], byte[]> producer =
        new KafkaProducer<>(
            fixture.kafka().clientProperties("test"),
            new ByteArraySerializer(),
            new ByteArraySerializer())) {
      for (ProducerRecord<byte[], byte[]> record : records) {
        producer.send(record).get();
      }
    }
  }
}
