package io.payrelay.providers.stripe;

import com.fasterxml.jackson.databind.JsonNode;
import io.payrelay.providers.StripeSignatures;
import io.payrelay.providers.UnreadableWebhookException;
import io.payrelay.providers.WebhookAdapter;
import io.payrelay.providers.WebhookEvent;
import io.payrelay.providers.WebhookJson;
import io.payrelay.providers.WebhookRequest;
import io.payrelay.providers.WebhookVerdict;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Stripe's webhooks: the event's envelope, and whether it is of our mode and account. What its
 * object says is {@link StripeFacts}'. Immutable, safe for any thread.
 */
public final class StripeWebhooks implements WebhookAdapter {

  /** The name that payments give Stripe. */
  public static final String NAME = "stripe";

  /** How many deliveries are still to come, which call caused it, how it was rendered. */
  private static final Set<String> DELIVERY_FIELDS =
      Set.of("pending_webhooks", "request", "api_version");

  private static final Answer ACCEPTED = new Answer(200, "text/plain", "");

  private final StripeSignatures scheme;
  private final boolean liveMode;
  private final @Nullable String account;

  /**
   * An adapter.
   *
   * @throws IllegalArgumentException where a secret is not one, or none is given
   */
  public StripeWebhooks(StripeWebhookConfig config) {
    this.scheme = new StripeSignatures(config.secrets(), config.tolerance());
    this.liveMode = config.liveMode();
    this.account = config.account().isEmpty() ? null : config.account();
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public WebhookVerdict verify(WebhookRequest request, Instant now) {
    return scheme.verify(request, now);
  }

  @Override
  public List<String> keptHeaders() {
    return List.of("content-type", "user-agent");
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
    JsonNode root = WebhookJson.parse(request.body());
    if (!root.path("object").asText().equals("event")) {
      throw new UnreadableWebhookException("object is not an event of API v1");
    }
    String eventId = WebhookJson.required(root, "id");
    String type = WebhookJson.required(root, "type");
    Instant createdAt = WebhookJson.seconds(root, "created");
    JsonNode object = root.path("data").path("object");
    if (!object.isObject()) {
      throw new UnreadableWebhookException("data.object is not an object");
    }
    byte[] digest = WebhookJson.digest(root, DELIVERY_FIELDS);
    if (!StripeFacts.speaksOf(type)) {
      // Its fields may mean anything: none is read, the raw event is kept.
      return new WebhookEvent(eventId, type, digest, null, List.of(), false);
    }
    try {
      String eventAccount = WebhookJson.optional(root, "account");
      checkOurs(root, eventAccount);
      return new StripeFacts(eventId, type, createdAt, eventAccount).read(object, digest);
    } catch (UnreadableWebhookException e) {
      throw e.of(eventId, type, digest);
    }
  }

  private void checkOurs(JsonNode root, @Nullable String eventAccount)
      throws UnreadableWebhookException {
    if (!root.path("livemode").isBoolean()) {
      throw new UnreadableWebhookException("livemode is missing");
    }
    if (root.path("livemode").booleanValue() != liveMode) {
      throw new UnreadableWebhookException(
          "the event is of " + (liveMode ? "test" : "live") + " mode, which is not configured");
    }
    if (account == null ? eventAccount != null : !account.equals(eventAccount)) {
      throw new UnreadableWebhookException("the event is of another account than the configured");
    }
  }
}
