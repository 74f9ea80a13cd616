package io.payrelay.schemas;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.StringLength;
import net.jqwik.api.constraints.WithNull;
import org.apache.avro.generic.GenericRecord;

class EventCodecPropertyTest {

  private static final ObjectMapper JSON = new ObjectMapper();

  private final EventCodec codec = new EventCodec(EventCatalogue.builtIn());

  @Property(tries = 300)
  void givesBackWhatWasEncoded(
      @ForAll @StringLength(max = 40) String text,
      @ForAll long amount,
      @ForAll @WithNull @StringLength(max = 40) String traceId)
      throws Exception {
    ObjectNode json = JSON.createObjectNode();
    json.put("payment_id", text);
    json.put("merchant", text + "x");
    json.put("merchant_order_id", "");
    json.put("provider", "p");
    json.put("amount_minor", amount);
    json.put("currency", "EUR");
    json.put("trace_id", traceId);

    if (!isText(text) || (traceId != null && !isText(traceId))) {
      assertThatThrownBy(() -> codec.encode("ChargeRequested", json.toString()))
          .isInstanceOf(EncodingException.class);
      return;
    }
    GenericRecord record = codec.decode(codec.encode("ChargeRequested", json.toString()));

    assertThat(record.get("payment_id")).hasToString(text);
    assertThat(record.get("merchant")).hasToString(text + "x");
    assertThat(record.get("amount_minor")).isEqualTo(amount);
    if (traceId == null) {
      assertThat(record.get("trace_id")).isNull();
    } else {
      assertThat(record.get("trace_id")).hasToString(traceId);
    }
  }

  /** Half a surrogate pair has no UTF-8 form, and PostgreSQL takes no NUL. */
  private static boolean isText(String text) {
    return text.equals(new String(text.getBytes(UTF_8), UTF_8)) && text.indexOf(0) < 0;
  }

  @Property(tries = 300)
  void refusesOrEncodesAnyTextWithoutAnotherException(@ForAll @StringLength(max = 60) String json) {
    try {
      assertThat(codec.encode("ChargeRequested", json)).isNotEmpty();
    } catch (EncodingException e) {
      assertThat(e).hasMessageStartingWith("payload");
    }
  }
}
