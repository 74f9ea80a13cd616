package io.payrelay.simulator.stripe;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Writes Stripe's objects, with all that its own libraries read of them. Stateless. */
public final class StripeJson {

  /** The version of Stripe's API whose shapes these are. */
  public static final String API_VERSION = "2026-07-29.dahlia";

  private static final ObjectMapper JSON = new ObjectMapper();

  private StripeJson() {}

  /** A payment intent. */
  public static ObjectNode intent(StripeIntent intent) {
    ObjectNode json = object(intent.id(), "payment_intent");
    json.put("amount", intent.amount());
    json.put("amount_capturable", 0);
    json.putObject("amount_details").putObject("tip");
    json.put("amount_received", intent.received());
    json.putNull("application");
    json.putNull("application_fee_amount");
    json.putNull("automatic_payment_methods");
    seconds(json, "canceled_at", intent.canceledAt());
    json.put("cancellation_reason", intent.cancellationReason());
    json.put("capture_method", "automatic_async");
    json.put("client_secret", intent.id() + "_secret_simulated");
    json.put("confirmation_method", "automatic");
    seconds(json, "created", intent.created());
    json.put("currency", intent.currency());
    json.put("customer", intent.customer());
    json.put("description", intent.description());
    failure(json, "last_payment_error", intent);
    json.put("latest_charge", intent.latestCharge());
    json.put("livemode", false);
    metadata(json, intent.metadata());
    if (intent.status().equals(StripeIntent.REQUIRES_ACTION)) {
      json.putObject("next_action").put("type", "use_stripe_sdk").putObject("use_stripe_sdk");
    } else {
      json.putNull("next_action");
    }
    json.putNull("on_behalf_of");
    boolean open = intent.status().equals(StripeIntent.REQUIRES_PAYMENT_METHOD);
    json.put("payment_method", open ? null : intent.paymentMethod());
    json.putObject("payment_method_options");
    json.putArray("payment_method_types").add("card");
    json.putNull("processing");
    json.putNull("receipt_email");
    json.putNull("review");
    json.putNull("setup_future_usage");
    json.putNull("shipping");
    json.putNull("source");
    json.putNull("statement_descriptor");
    json.putNull("statement_descriptor_suffix");
    json.put("status", intent.status());
    destination(json, intent);
    json.putNull("transfer_group");
    return json;
  }

  /**
   * The charge of the intent's last try.
   *
   * @param refunded what of it was given back
   */
  public static ObjectNode charge(StripeIntent intent, long refunded) {
    String id = intent.latestCharge();
    if (id == null) {
      throw new IllegalArgumentException("the intent was not tried");
    }
    boolean paid = intent.status().equals(StripeIntent.SUCCEEDED);
    String status =
        paid ? "succeeded" : intent.status().equals(StripeIntent.PROCESSING) ? "pending" : "failed";
    ObjectNode json = object(id, "charge");
    json.put("amount", intent.amount());
    json.put("amount_captured", paid ? intent.received() : 0);
    json.put("amount_refunded", refunded);
    json.putNull("application");
    json.put("balance_transaction", paid ? "txn_" + id.substring("ch_".length()) : null);
    json.putObject("billing_details").putNull("email").putNull("name").putNull("phone");
    json.put("captured", paid);
    seconds(json, "created", intent.created());
    json.put("currency", intent.currency());
    json.put("customer", intent.customer());
    json.put("description", intent.description());
    json.put("disputed", false);
    StripeFailure failure = paid ? null : intent.failure();
    json.put("failure_code", failure == null ? null : failure.code());
    json.put("failure_message", failure == null ? null : failure.message());
    json.putObject("fraud_details");
    json.put("livemode", false);
    metadata(json, intent.metadata());
    json.put("paid", paid);
    json.put("payment_intent", intent.id());
    json.put("payment_method", intent.paymentMethod());
    json.put("refunded", paid && refunded == intent.received());
    json.put("status", status);
    destination(json, intent);
    return json;
  }

  /** A refund. */
  public static ObjectNode refund(StripeRefund refund) {
    ObjectNode json = object(refund.id(), "refund");
    json.put("amount", refund.amount());
    json.put("balance_transaction", "txn_" + refund.id());
    json.put("charge", refund.charge());
    seconds(json, "created", refund.created());
    json.put("currency", refund.currency());
    if (refund.failureReason() != null) {
      json.put("failure_balance_transaction", "txn_" + refund.id() + "_failed");
      json.put("failure_reason", refund.failureReason());
    }
    metadata(json, refund.metadata());
    json.put("payment_intent", refund.intent());
    json.put("reason", refund.reason());
    json.putNull("receipt_number");
    json.put("status", refund.status());
    return json;
  }

  /** A dispute of all that an intent brought. */
  public static ObjectNode dispute(StripeIntent intent, String id, String status, Instant at) {
    ObjectNode json = object(id, "dispute");
    json.put("amount", intent.received());
    json.putArray("balance_transactions");
    json.put("charge", intent.latestCharge());
    seconds(json, "created", at);
    json.put("currency", intent.currency());
    json.putObject("evidence");
    json.put("is_charge_refundable", false);
    json.put("livemode", false);
    json.putObject("metadata");
    json.put("payment_intent", intent.id());
    json.put("reason", "fraudulent");
    json.put("status", status);
    return json;
  }

  /** A payment method that is a card. */
  public static ObjectNode card(String id, Instant at) {
    ObjectNode json = object(id, "payment_method");
    json.putObject("billing_details");
    json.putObject("card").put("brand", "visa").put("last4", "4242").put("exp_year", 2034);
    seconds(json, "created", at);
    json.putNull("customer");
    json.put("livemode", false);
    json.putObject("metadata");
    json.put("type", "card");
    return json;
  }

  /** One page. */
  public static ObjectNode list(String url, List<ObjectNode> page, boolean hasMore) {
    ObjectNode json = JSON.createObjectNode();
    json.put("object", "list");
    ArrayNode data = json.putArray("data");
    page.forEach(data::add);
    json.put("has_more", hasMore);
    json.put("url", url);
    return json;
  }

  /** An error's body. */
  public static ObjectNode error(StripeError error) {
    ObjectNode json = JSON.createObjectNode();
    ObjectNode inner = json.putObject("error");
    if (error.code() != null) {
      inner.put("code", error.code());
    }
    if (error.declineCode() != null) {
      inner.put("decline_code", error.declineCode());
    }
    inner.put("message", error.text());
    if (error.param() != null) {
      inner.put("param", error.param());
    }
    StripeIntent intent = error.intent();
    if (intent != null) {
      inner.set("payment_intent", intent(intent));
      if (error.declineCode() != null && intent.latestCharge() != null) {
        inner.put("charge", intent.latestCharge());
      }
    }
    inner.put("type", error.type());
    return json;
  }

  /** An event with the object as it was. */
  public static ObjectNode event(
      String id, String type, Instant at, @Nullable String account, ObjectNode changed) {
    ObjectNode json = object(id, "event");
    if (account != null) {
      json.put("account", account);
    }
    json.put("api_version", API_VERSION);
    seconds(json, "created", at);
    json.putObject("data").set("object", changed);
    json.put("livemode", false);
    json.put("pending_webhooks", 1);
    json.putObject("request").putNull("id").putNull("idempotency_key");
    json.put("type", type);
    return json;
  }

  /** The bytes of it. */
  public static byte[] bytes(ObjectNode json) {
    try {
      return JSON.writeValueAsBytes(json);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static ObjectNode object(String id, String name) {
    return JSON.createObjectNode().put("id", id).put("object", name);
  }

  private static void failure(ObjectNode json, String name, StripeIntent intent) {
    StripeFailure failure = intent.failure();
    if (failure == null) {
      json.putNull(name);
      return;
    }
    ObjectNode inner = json.putObject(name);
    if (intent.latestCharge() != null) {
      inner.put("charge", intent.latestCharge());
    }
    inner.put("code", failure.code());
    inner.put("decline_code", failure.declineCode());
    inner.put("message", failure.message());
    inner.put("type", "card_error");
  }

  private static void destination(ObjectNode json, StripeIntent intent) {
    if (intent.destination() == null) {
      json.putNull("transfer_data");
    } else {
      json.putObject("transfer_data").put("destination", intent.destination());
    }
  }

  private static void metadata(ObjectNode json, Map<String, String> metadata) {
    ObjectNode inner = json.putObject("metadata");
    metadata.forEach(inner::put);
  }

  private static void seconds(ObjectNode json, String name, @Nullable Instant at) {
    if (at == null) {
      json.putNull(name);
    } else {
      json.put(name, at.getEpochSecond());
    }
  }
}
