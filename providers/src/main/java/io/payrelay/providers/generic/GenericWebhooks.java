package io.payrelay.providers.generic;

import com.fasterxml.jackson.databind.JsonNode;
import io.payrelay.payments.lifecycle.Fact;
import io.payrelay.payments.lifecycle.FactSource;
import io.payrelay.payments.lifecycle.Observation;
import io.payrelay.payments.money.Money;
import io.payrelay.providers.StandardWebhooks;
import io.payrelay.providers.UnreadableWebhookException;
import io.payrelay.providers.WebhookAdapter;
import io.payrelay.providers.WebhookEvent;
import io.payrelay.providers.WebhookJson;
import io.payrelay.providers.WebhookRequest;
import io.payrelay.providers.WebhookVerdict;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The generic HTTP provider's webhooks: Standard Webhooks around {@code {"type", "timestamp",
 * "data"}}. Amounts are in minor units. Types that are not known are read without a fact.
 * Immutable, safe for any thread.
 */
public final class GenericWebhooks implements WebhookAdapter {

  /** The attempt's time in some senders, the event's in others. */
  private static final Set<String> DELIVERY_FIELDS = Set.of("timestamp");

  private static final String REFUND = "refund.";

  private static final Answer ACCEPTED = new Answer(204, "text/plain", "");

  private final String name;
  private final StandardWebhooks scheme;
  private final boolean failuresFinal;

  /**
   * An adapter.
   *
   * @throws IllegalArgumentException where a secret is not one
   */
  public GenericWebhooks(GenericWebhookConfig config) {
    this.name = config.name();
    this.scheme = new StandardWebhooks(config.secrets(), config.tolerance());
    this.failuresFinal = config.failuresFinal();
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public WebhookVerdict verify(WebhookRequest request, Instant now) {
    return scheme.verify(request, now);
  }

  @Override
  public Optional<String> eventId(WebhookRequest request) {
    return StandardWebhooks.eventId(request);
  }

  @Override
  public List<String> keptHeaders() {
    return List.of(StandardWebhooks.ID, StandardWebhooks.TIMESTAMP, "content-type", "user-agent");
  }

  @Override
  public Set<String> deliveryFields() {
    return DELIVERY_FIELDS;
  }

  @Override
  public Answer accepted() {
    return ACCEPTED;
  }

  @Override
  public WebhookEvent read(WebhookRequest request, Instant receivedAt)
      throws UnreadableWebhookException {
    String eventId =
        eventId(request)
            .orElseThrow(() -> new UnreadableWebhookException("webhook-id is not readable"));
    JsonNode root = WebhookJson.parse(request.body());
    String type = WebhookJson.required(root, "type");
    JsonNode data = root.path("data");
    if (!data.isObject()) {
      throw new UnreadableWebhookException("data is not an object");
    }
    byte[] digest = WebhookJson.digest(root, DELIVERY_FIELDS);
    Observation observation = observation(type);
    if (observation == null) {
      // Its fields may mean anything: none is read, the raw event is kept.
      return new WebhookEvent(eventId, type, digest, null, List.of(), false);
    }
    try {
      String paymentId = WebhookJson.required(data, "merchant_transaction_id");
      Instant at = WebhookJson.instant(root, "timestamp");
      Instant seen = at == null ? receivedAt : at;
      Fact fact =
          type.startsWith(REFUND)
              ? refund(observation, type, eventId, paymentId, data, seen)
              : fact(observation, type, eventId, paymentId, data, seen);
      return new WebhookEvent(eventId, type, digest, paymentId, List.of(fact), false);
    } catch (UnreadableWebhookException e) {
      throw e.of(eventId, type, digest);
    }
  }

  private @Nullable Observation observation(String type) {
    return switch (type) {
      case "charge.succeeded" -> Observation.SUCCEEDED;
      case "charge.failed", "charge.canceled" ->
          failuresFinal ? Observation.FAILED : Observation.FAILURE_REPORTED;
      case "charge.pending", "refund.pending" -> Observation.PENDING;
      case "refund.succeeded" -> Observation.PROVIDER_REFUND;
      case "refund.failed", "refund.canceled" ->
          failuresFinal ? Observation.FAILED : Observation.FAILURE_REPORTED;
      case "charge.disputed" -> Observation.DISPUTED;
      case "charge.dispute_won" -> Observation.DISPUTE_WON;
      case "charge.dispute_lost" -> Observation.DISPUTE_LOST;
      case "charge.refunded" -> Observation.PROVIDER_REFUND;
      default -> null;
    };
  }

  /** A refund names its own id, whose money it gives back, and ours of it where we asked for it. */
  private Fact refund(
      Observation observation,
      String type,
      String eventId,
      String paymentId,
      JsonNode data,
      Instant at)
      throws UnreadableWebhookException {
    String reference = WebhookJson.required(data, "id");
    String transactionId = WebhookJson.required(data, "charge");
    Money amount = WebhookJson.money(data, "amount", "currency");
    if (amount == null || amount.amountMinor() == 0) {
      throw new UnreadableWebhookException("data.amount is not a positive amount");
    }
    String code = WebhookJson.code(data, "failure_code");
    boolean canceled = code == null && type.equals("refund.canceled");
    return new Fact(
        FactSource.WEBHOOK,
        name,
        paymentId,
        observation,
        transactionId,
        amount,
        null,
        reference,
        canceled ? "canceled" : code,
        at,
        Map.of("event_id", eventId, "event_type", type),
        WebhookJson.optional(data, "merchant_refund_id"));
  }

  private Fact fact(
      Observation observation,
      String type,
      String eventId,
      String paymentId,
      JsonNode data,
      Instant at)
      throws UnreadableWebhookException {
    String reference = null;
    String amountField = "amount";
    if (observation == Observation.PROVIDER_REFUND) {
      // Without an id two partial refunds would look like one, without an amount like all of it.
      reference = WebhookJson.required(data, "refund_id");
      amountField = "refund_amount";
    } else if (type.startsWith("charge.disput")) {
      reference = WebhookJson.required(data, "dispute_id");
      amountField = "dispute_amount";
    }
    String code = null;
    boolean failure =
        observation == Observation.FAILED || observation == Observation.FAILURE_REPORTED;
    if (failure) {
      code = WebhookJson.code(data, "failure_code");
      code = code == null && type.equals("charge.canceled") ? "canceled" : code;
    }
    Money amount = WebhookJson.money(data, amountField, "currency");
    String transactionId = WebhookJson.optional(data, "id");
    boolean money = !failure && observation != Observation.PENDING;
    if (money && transactionId == null) {
      throw new UnreadableWebhookException("data.id is missing");
    }
    if (money && (amount == null || amount.amountMinor() == 0)) {
      throw new UnreadableWebhookException("data." + amountField + " is not a positive amount");
    }
    return new Fact(
        FactSource.WEBHOOK,
        name,
        paymentId,
        observation,
        transactionId,
        amount,
        WebhookJson.optional(data, "payee_account"),
        reference,
        code,
        at,
        Map.of("event_id", eventId, "event_type", type));
  }
}
