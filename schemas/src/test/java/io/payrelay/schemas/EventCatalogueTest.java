package io.payrelay.schemas;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class EventCatalogueTest {

  private static final String ORDER_PLACED =
      "{\"event_type\": \"OrderPlaced\", \"schema\": \"OrderPlaced.avsc\", \"topic\": \"shop.orders\"}";

  @TempDir Path dir;

  @BeforeEach
  void writeSchema() throws IOException {
    Files.writeString(
        dir.resolve("OrderPlaced.avsc"),
        "{\"type\": \"record\", \"name\": \"OrderPlaced\", \"fields\": [{\"name\": \"id\", \"type\": \"string\"}]}");
  }

  private void catalogue(String json) throws IOException {
    Files.writeString(dir.resolve("event-catalogue.json"), json);
  }

  @Test
  void addsTheTypesOfAFolderForUpstreams() throws Exception {
    catalogue("[" + ORDER_PLACED + "]");

    EventCatalogue catalogue = EventCatalogue.withFolder(dir);

    assertThat(catalogue.all())
        .extracting(EventType::name)
        .containsExactly(
            "ChargeRequested",
            "PaymentStatusChanged",
            "RefundRequested",
            "RefundStatusChanged",
            "OrderPlaced");
    assertThat(catalogue.find("OrderPlaced").orElseThrow().upstream()).isTrue();
    assertThat(catalogue.ownTopics()).containsExactly(Topic.forEvents("shop.orders"));
    assertThat(new EventCodec(catalogue).encode("OrderPlaced", "{\"id\": \"1\"}")).isNotEmpty();
  }

  @Test
  void letsUpstreamsWriteRequestsOnly() {
    EventCatalogue catalogue = EventCatalogue.withFolder(Path.of(""));

    assertThat(catalogue.find("ChargeRequested").orElseThrow().upstream()).isTrue();
    assertThat(catalogue.find("PaymentStatusChanged").orElseThrow().upstream()).isFalse();
    assertThat(catalogue.ownTopics()).isEmpty();
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "{ | event-catalogue.json cannot be read",
        "{} | is not a JSON array",
        "[{}] | has an entry without schema",
        "[5] | has an entry without schema",
        "[{\"schema\": \"OrderPlaced.avsc\", \"topic\": \"t\"}] | has an entry without event_type",
        "[{\"schema\": \"OrderPlaced.avsc\", \"event_type\": \"E\"}] | has an entry without topic",
        "[{\"schema\": \"Missing.avsc\", \"event_type\": \"E\", \"topic\": \"t\"}] | Missing.avsc cannot be read",
        "[{\"schema\": \"../OrderPlaced.avsc\", \"event_type\": \"E\", \"topic\": \"t\"}] | lies outside",
        "[{\"schema\": \"/etc/passwd\", \"event_type\": \"E\", \"topic\": \"t\"}] | lies outside",
        "[{\"schema\": \"event-catalogue.json\", \"event_type\": \"E\", \"topic\": \"t\"}] | event-catalogue.json cannot be read",
        "[{\"schema\": \"OrderPlaced.avsc\", \"event_type\": \"order placed\", \"topic\": \"t\"}] | is not of the form",
        "[{\"schema\": \"OrderPlaced.avsc\", \"event_type\": \"ChargeRequested\", \"topic\": \"t\"}] | exists already",
      })
  void saysWhatIsWrongWithAFolder(String json, String message) throws Exception {
    catalogue(json);

    assertThatThrownBy(() -> EventCatalogue.withFolder(dir))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining(message);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "payrelay.payment-status",
        "payrelay.relay-position.payrelay",
        "payrelay.dead-letter",
        "a b",
        ".."
      })
  void keepsAFolderOutOfPayrelaysOwnTopics(String topic) throws Exception {
    catalogue("[" + ORDER_PLACED.replace("shop.orders", topic) + "]");

    assertThatThrownBy(() -> EventCatalogue.withFolder(dir))
        .hasMessageContaining("is no topic name or is Payrelay's own");
  }

  @Test
  void refusesATypeNamedTwice() throws Exception {
    catalogue("[" + ORDER_PLACED + "," + ORDER_PLACED + "]");

    assertThatThrownBy(() -> EventCatalogue.withFolder(dir)).hasMessageContaining("exists already");
  }

  @Test
  void refusesASchemaThatIsNoRecord() throws Exception {
    catalogue("[" + ORDER_PLACED + "]");
    Files.writeString(dir.resolve("OrderPlaced.avsc"), "\"string\"");

    assertThatThrownBy(() -> EventCatalogue.withFolder(dir))
        .hasMessageContaining("is not the schema of a record");
  }

  @Test
  void refusesAFolderWithoutCatalogue() {
    assertThatThrownBy(() -> EventCatalogue.withFolder(dir))
        .hasMessageContaining("event-catalogue.json cannot be read");
  }
}
