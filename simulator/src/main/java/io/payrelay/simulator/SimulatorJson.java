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
import java.util.function.Function;

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

  /** Something that writes one thing to a generator. */
  private interface Writer<T> {
    void write(JsonGenerator json, T thing) throws IOException;
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
            if (answer.refund() != null) {
              writeRefund(json, answer.refund());
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

  /** Each charge with what was given back of it, where anything was. */
  static byte[] list(Collection<Charge> charges, Function<Charge, List<Refund>> given) {
    return write(charges, (json, charge) -> writeCharge(json, charge, given.apply(charge)));
  }

  static byte[] refunds(Collection<Refund> refunds) {
    return write(refunds, SimulatorJson::writeRefund);
  }

  private static <T> byte[] write(Collection<T> things, Writer<T> writer) {
    return bytes(
        json -> {
          json.writeStartObject();
          json.writeArrayFieldStart("data");
          for (T thing : things) {
            writer.write(json, thing);
          }
          json.writeEndArray();
          json.writeEndObject();
        });
  }

  static byte[] webhook(String type, Instant at, Charge charge) {
    return webhook(type, at, json -> writeCharge(json, charge));
  }

  static byte[] webhook(String type, Instant at, Refund refund) {
    return webhook(type, at, json -> writeRefund(json, refund));
  }

  private static byte[] webhook(String type, Instant at, Content data) {
    return bytes(
        json -> {
          json.writeStartObject();
          json.writeStringField("type", type);
          json.writeStringField("timestamp", at.toString());
          json.writeFieldName("data");
          data.write(json);
          json.writeEndObject();
        });
  }

  /** Streams the oracle's list; the stream stays open. */
  static void oracle(List<SimulatedCharge> charges, OutputStream out) throws IOException {
    oracle("charges", charges, SimulatorJson::writeOracleCharge, out);
  }

  /** Streams the oracle's list of refunds; the stream stays open. */
  static void oracleRefunds(List<SimulatedRefund> refunds, OutputStream out) throws IOException {
    oracle("refunds", refunds, SimulatorJson::writeOracleRefund, out);
  }

  private static <T> void oracle(String name, List<T> things, Writer<T> writer, OutputStream out)
      throws IOException {
    try (JsonGenerator json =
        FACTORY.createGenerator(out).disable(JsonGenerator.Feature.AUTO_CLOSE_TARGET)) {
      json.writeStartObject();
      json.writeArrayFieldStart(name);
      for (T thing : things) {
        writer.write(json, thing);
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
          json.writeNumberField("refund_calls", stats.refundCalls());
          json.writeNumberField("refunds", stats.refunds());
          json.writeNumberField("ids_refunded_twice", stats.idsRefundedTwice());
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
    writeCharge(json, charge, List.of());
  }

  private static void writeCharge(JsonGenerator json, Charge charge, List<Refund> given)
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
    if (!given.isEmpty()) {
      json.writeArrayFieldStart("refunds");
      for (Refund refund : given) {
        writeRefund(json, refund);
      }
      json.writeEndArray();
    }
    json.writeEndObject();
  }

  private static void writeRefund(JsonGenerator json, Refund refund) throws IOException {
    json.writeStartObject();
    json.writeStringField("id", refund.id());
    json.writeStringField("merchant_refund_id", refund.merchantRefundId());
    json.writeStringField("charge", refund.chargeId());
    json.writeStringField("merchant_transaction_id", refund.merchantTransactionId());
    json.writeStringField("status", refund.status().wireName());
    json.writeNumberField("amount", refund.amountMinor());
    json.writeStringField("currency", refund.currency());
    json.writeStringField("failure_code", refund.failureCode());
    json.writeStringField("created_at", refund.createdAt().toString());
    json.writeEndObject();
  }

  private static void writeOracleRefund(JsonGenerator json, SimulatedRefund refund)
      throws IOException {
    json.writeStartObject();
    json.writeStringField("id", refund.id());
    json.writeStringField("merchant_refund_id", refund.merchantRefundId());
    json.writeStringField("charge", refund.chargeId());
    json.writeStringField("merchant_transaction_id", refund.merchantTransactionId());
    json.writeStringField("status", refund.status().wireName());
    json.writeNumberField("amount", refund.amountMinor());
    json.writeStringField("currency", refund.currency());
    json.writeStringField("failure_code", refund.failureCode());
    json.writeStringField("created_at", refund.createdAt().toString());
    json.writeStringField("idempotency_key", refund.idempotencyKey());
    json.writeBooleanField("money_returned", refund.moneyReturned());
    json.writeBooleanField("ever_succeeded", refund.everSucceeded());
    json.writeNumberField("calls", refund.calls());
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
