package io.payrelay.simulator;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.util.Collection;
import java.util.List;
import java.util.Map;

/**
 * Writes the JSON of the protocol and of the oracle. Streaming, because every charge passes here
 * several times.
 */
final class SimulatorJson {
  private static final JsonFactory FACTORY = new JsonFactory();

  /** Something that writes to a generator. */
  private interface Content {
    void write(JsonGenerator json) throws IOException;
  }

  private SimulatorJson() {}

  static byte[] answer(Answer answer) {
    return bytes(
        json -> {
          Charge charge = answer.charge();
          Answer.ApiError error = answer.error();
          if (error == null) {
            if (charge != null) {
              writeCharge(json, charge);
            }
            return;
          }
          json.writeStartObject();
          json.writeObjectFieldStart("error");
          json.writeStringField("type", error.type());
          if (error.code() != null) {
            json.writeStringField("code", error.code());
          }
          if (error.message() != null) {
            json.writeStringField("message", error.message());
          }
          json.writeEndObject();
          if (charge != null) {
            json.writeFieldName("charge");
            writeCharge(json, charge);
          }
          json.writeEndObject();
        });
  }

  static byte[] list(Collection<Charge> charges) {
    return bytes(
        json -> {
          json.writeStartObject();
          json.writeArrayFieldStart("data");
          for (Charge charge : charges) {
            writeCharge(json, charge);
          }
          json.writeEndArray();
          json.writeEndObject();
        });
  }

  static byte[] webhook(String type, Instant at, Charge charge) {
    return bytes(
        json -> {
          json.writeStartObject();
          json.writeStringField("type", type);
          json.writeStringField("timestamp", at.toString());
          json.writeFieldName("data");
          writeCharge(json, charge);
          json.writeEndObject();
        });
  }

  /** Streams the oracle's list; the stream stays open. */
  static void oracle(List<SimulatedCharge> charges, OutputStream out) throws IOException {
    try (JsonGenerator json =
        FACTORY.createGenerator(out).disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET)) {
      json.writeStartObject();
      json.writeArrayFieldStart("charges");
      for (SimulatedCharge charge : charges) {
        writeOracleCharge(json, charge);
      }
      json.writeEndArray();
      json.writeEndObject();
    }
  }

  static byte[] stats(SimulatorStats stats) {
    return bytes(
        json -> {
          json.writeStartObject();
          json.writeNumberField("charge_calls", stats.chargeCalls());
          json.writeNumberField("replays", stats.replays());
          json.writeNumberField("queries", stats.queries());
          json.writeNumberField("charges", stats.charges());
          json.writeNumberField("ids_charged_twice", stats.idsChargedTwice());
          writeCounts(json, "charges_by_status", stats.chargesByStatus());
          writeCounts(json, "faults", stats.faults());
          writeCounts(json, "query_faults", stats.queryFaults());
          writeCounts(json, "webhook_faults", stats.webhookFaults());
          json.writeObjectFieldStart("webhooks");
          json.writeNumberField("events", stats.webhookEvents());
          json.writeNumberField("delivered", stats.webhooksDelivered());
          json.writeNumberField("lost", stats.webhooksLost());
          json.writeNumberField("failed_attempts", stats.webhookAttemptsFailed());
          json.writeNumberField("given_up", stats.webhooksGivenUp());
          json.writeNumberField("without_target", stats.webhooksWithoutTarget());
          json.writeEndObject();
          json.writeEndObject();
        });
  }

  private static void writeCounts(
      JsonGenerator json, String name, Map<? extends Enum<?>, Long> counts) throws IOException {
    json.writeObjectFieldStart(name);
    for (Map.Entry<? extends Enum<?>, Long> count : counts.entrySet()) {
      json.writeNumberField(count.getKey().name(), count.getValue());
    }
    json.writeEndObject();
  }

  private static void writeCharge(JsonGenerator json, Charge charge) throws IOException {
    json.writeStartObject();
    json.writeStringField("id", charge.id());
    json.writeStringField("merchant_transaction_id", charge.merchantTransactionId());
    json.writeStringField("status", charge.status().wireName());
    json.writeNumberField("amount", charge.amountMinor());
    json.writeStringField("currency", charge.currency());
    json.writeStringField("payee_account", charge.payeeAccount());
    json.writeStringField("failure_code", charge.failureCode());
    json.writeStringField("created_at", charge.createdAt().toString());
    json.writeEndObject();
  }

  private static void writeOracleCharge(JsonGenerator json, SimulatedCharge charge)
      throws IOException {
    json.writeStartObject();
    json.writeStringField("id", charge.id());
    json.writeStringField("merchant_transaction_id", charge.merchantTransactionId());
    json.writeStringField("status", charge.status().wireName());
    json.writeNumberField("amount", charge.amountMinor());
    json.writeStringField("currency", charge.currency());
    json.writeStringField("payee_account", charge.payeeAccount());
    json.writeStringField("failure_code", charge.failureCode());
    json.writeStringField("created_at", charge.createdAt().toString());
    json.writeStringField("idempotency_key", charge.idempotencyKey());
    json.writeBooleanField("money_moved", charge.moneyMoved());
    json.writeNumberField("calls", charge.calls());
    json.writeEndObject();
  }

  private static byte[] bytes(Content content) {
    ByteArrayOutputStream out = new ByteArrayOutputStream(512);
    try (JsonGenerator json = FACTORY.createGenerator(out)) {
      content.write(json);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return out.toByteArray();
  }
}
