package io.payrelay.providers.stripe;

import com.fasterxml.jackson.databind.JsonNode;
import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.money.Money;
import io.payrelay.providers.UnreadableWebhookException;
import io.payrelay.providers.WebhookEvent;
import io.payrelay.providers.WebhookJson;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What one Stripe event says. The state of the object counts, not the name of the event: Stripe
 * tells one change by several events ({@code payment_intent.succeeded} and {@code
 * charge.succeeded}, {@code charge.dispute.created} and {@code charge.dispute.funds_withdrawn}),
 * and all of them come out as the same fact about the same transaction. Immutable.
 */
final class StripeFacts {

  private static final Set<String> REFUND_TYPES =
      Set.of("refund.created", "refund.updated", "refund.failed", "charge.refund.updated");
  private static final String DISPUTE = "charge.dispute.";
  private static final String INTENT = "payment_intent.";
  private static final String CHARGE = "charge.";

  private final String eventId;
  private final String type;
  private final Instant at;
  private final @Nullable String account;

  StripeFacts(String eventId, String type, Instant at, @Nullable String account) {
    this.eventId = eventId;
    this.type = type;
    this.at = at;
    this.account = account;
  }

  /** Is it a type whose object is read? */
  static boolean speaksOf(String type) {
    return type.startsWith(INTENT) || type.startsWith(CHARGE) || REFUND_TYPES.contains(type);
  }

  WebhookEvent read(JsonNode object, byte[] digest) throws UnreadableWebhookException {
    String id = WebhookJson.required(object, "id");
    if (REFUND_TYPES.contains(type)) {
      return event(digest, null, refund(object, id, transaction(object)), false);
    }
    if (type.startsWith(DISPUTE)) {
      return event(digest, null, dispute(object, id), false);
    }
    String paymentId = StripeMetadata.paymentId(object);
    String named = paymentId == null ? WebhookEvent.UNNAMED : paymentId;
    return type.startsWith(INTENT)
        ? event(digest, paymentId, List.of(intent(object, id, named)), intentAsks(object))
        : event(digest, paymentId, charge(object, id, named), chargeAsks(object));
  }

  private WebhookEvent event(
      byte[] digest, @Nullable String paymentId, List<Fact> facts, boolean asks) {
    return new WebhookEvent(eventId, type, digest, paymentId, facts, asks);
  }

  private Fact intent(JsonNode intent, String id, String paymentId)
      throws UnreadableWebhookException {
    String status = WebhookJson.required(intent, "status");
    Observation observation =
        switch (status) {
          case "succeeded" -> Observation.SUCCEEDED;
          case "canceled" -> Observation.FAILED;
          default -> Observation.PENDING;
        };
    // What was received, not what was asked for: a partial capture must not look like all of it.
    boolean received = observation == Observation.SUCCEEDED && intent.has("amount_received");
    return fact(
        paymentId,
        observation,
        id,
        money(intent, received ? "amount_received" : "amount"),
        payee(intent),
        null,
        observation == Observation.FAILED ? whyCanceled(intent) : null,
        id);
  }

  /** A declined intent is cancelled by us: why it was declined says more. */
  private static String whyCanceled(JsonNode intent) {
    String otherwise = code(intent, "cancellation_reason", "canceled");
    JsonNode failure = intent.path("last_payment_error");
    return failure.isObject()
        ? code(failure, "decline_code", code(failure, "code", otherwise))
        : otherwise;
  }

  /** After a decline the intent can still be paid, until somebody cancels it: FAILED is not yet. */
  private static boolean intentAsks(JsonNode intent) {
    return intent.path("status").asText().equals("requires_payment_method")
        && intent.path("last_payment_error").isObject();
  }

  private List<Fact> charge(JsonNode charge, String id, String paymentId)
      throws UnreadableWebhookException {
    String intent = id(charge, "payment_intent");
    String transaction = intent == null ? id : intent;
    boolean succeeded = WebhookJson.required(charge, "status").equals("succeeded");
    boolean failed = charge.path("status").asText().equals("failed");
    boolean captured = succeeded && charge.path("captured").asBoolean(true);
    // A declined charge of an intent is one try of it.
    Observation observation =
        captured
            ? Observation.SUCCEEDED
            : failed && intent == null ? Observation.FAILED : Observation.PENDING;
    List<Fact> facts = new ArrayList<>();
    facts.add(
        fact(
            paymentId,
            observation,
            transaction,
            money(charge, captured && charge.has("amount_captured") ? "amount_captured" : "amount"),
            payee(charge),
            null,
            observation == Observation.FAILED ? code(charge, "failure_code", "failed") : null,
            id));
    if (captured) {
      // Older versions of the API list them; of newer ones the refund's own events tell.
      for (JsonNode refund : charge.path("refunds").path("data")) {
        for (Fact one : refund(refund, WebhookJson.required(refund, "id"), transaction)) {
          facts.add(one.about(paymentId));
        }
      }
    }
    return facts;
  }

  private boolean chargeAsks(JsonNode charge) {
    boolean declined =
        charge.path("status").asText().equals("failed") && charge.hasNonNull("payment_intent");
    return declined || type.equals("charge.expired");
  }

  /**
   * A refund belongs to the payment whose money it gives back; its own metadata name the refund of
   * ours that it is, where we asked for it. Of those we can ask, so that a failure is only
   * reported.
   */
  private List<Fact> refund(JsonNode refund, String id, String transaction)
      throws UnreadableWebhookException {
    String status = WebhookJson.required(refund, "status");
    String ours = StripeMetadata.refundId(refund);
    Observation observation =
        switch (status) {
          case "succeeded" -> Observation.PROVIDER_REFUND;
          case "pending", "requires_action" -> Observation.PENDING;
          case "failed", "canceled" ->
              ours == null ? Observation.FAILED : Observation.FAILURE_REPORTED;
          default ->
              throw new UnreadableWebhookException("status of a refund is none that is known");
        };
    boolean failed =
        observation == Observation.FAILED || observation == Observation.FAILURE_REPORTED;
    return List.of(
        fact(
                WebhookEvent.UNNAMED,
                observation,
                transaction,
                money(refund, "amount"),
                null,
                id,
                failed ? code(refund, "failure_reason", status) : null,
                id)
            .aboutRefund(ours));
  }

  private List<Fact> dispute(JsonNode dispute, String id) throws UnreadableWebhookException {
    String status = WebhookJson.required(dispute, "status");
    Observation observation =
        switch (type) {
          case DISPUTE + "funds_withdrawn" -> Observation.DISPUTED;
          case DISPUTE + "funds_reinstated" ->
              status.equals("won") ? Observation.DISPUTE_WON : null;
          default ->
              switch (status) {
                case "needs_response", "under_review" -> Observation.DISPUTED;
                case "won" -> Observation.DISPUTE_WON;
                case "lost" -> Observation.DISPUTE_LOST;
                // An inquiry moves no money: warning_needs_response and its kind.
                default -> status.startsWith("warning_") ? Observation.PENDING : null;
              };
        };
    if (observation == null) {
      throw new UnreadableWebhookException("status of a dispute is none that is known");
    }
    return observation == Observation.PENDING
        ? List.of()
        : List.of(moved(observation, dispute, id, transaction(dispute)));
  }

  private Fact moved(Observation observation, JsonNode object, String id, String transaction)
      throws UnreadableWebhookException {
    return fact(
        WebhookEvent.UNNAMED,
        observation,
        transaction,
        money(object, "amount"),
        null,
        id,
        null,
        id);
  }

  private Fact fact(
      String paymentId,
      Observation observation,
      String transaction,
      Money amount,
      @Nullable String payee,
      @Nullable String reference,
      @Nullable String code,
      String objectId)
      throws UnreadableWebhookException {
    boolean money = observation != Observation.FAILED && observation != Observation.PENDING;
    if (money && amount.amountMinor() == 0) {
      throw new UnreadableWebhookException("the amount that moved is not positive");
    }
    return new Fact(
        FactSource.WEBHOOK,
        StripeWebhooks.NAME,
        paymentId,
        observation,
        transaction,
        amount,
        payee,
        reference,
        code,
        at,
        Map.of("event_id", eventId, "event_type", type, "object_id", objectId));
  }

  /** What the money came by: the intent, or a charge that has none. */
  private static String transaction(JsonNode object) throws UnreadableWebhookException {
    String intent = id(object, "payment_intent");
    String transaction = intent == null ? id(object, "charge") : intent;
    if (transaction == null) {
      throw new UnreadableWebhookException("neither payment_intent nor charge is named");
    }
    return transaction;
  }

  /** The id of another object, which may stand there whole. */
  private static @Nullable String id(JsonNode object, String field)
      throws UnreadableWebhookException {
    JsonNode node = object.path(field);
    return node.isObject() ? WebhookJson.required(node, "id") : WebhookJson.optional(object, field);
  }

  private @Nullable String payee(JsonNode object) throws UnreadableWebhookException {
    String destination = id(object.path("transfer_data"), "destination");
    return destination == null ? account : destination;
  }

  private static String code(JsonNode object, String field, String otherwise) {
    return Objects.requireNonNullElse(WebhookJson.code(object, field), otherwise);
  }

  private static Money money(JsonNode object, String field) throws UnreadableWebhookException {
    JsonNode amount = object.path(field);
    if (!amount.isIntegralNumber() || !amount.canConvertToLong()) {
      throw new UnreadableWebhookException(field + " is not a whole number");
    }
    String currency = WebhookJson.required(object, "currency");
    return StripeAmounts.money(amount.longValue(), currency)
        .orElseThrow(
            () -> new UnreadableWebhookException(field + " and currency are not an amount"));
  }
}
