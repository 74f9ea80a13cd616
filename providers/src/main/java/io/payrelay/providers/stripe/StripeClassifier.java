package io.payrelay.providers.stripe;

import com.fasterxml.jackson.databind.JsonNode;
import io.payrelay.payments.money.Money;
import io.payrelay.providers.ProviderAnswer;
import io.payrelay.providers.ProviderResult;
import io.payrelay.providers.ProviderResult.Declined;
import io.payrelay.providers.ProviderResult.KeyRefused;
import io.payrelay.providers.ProviderResult.NotProcessed;
import io.payrelay.providers.ProviderResult.Pending;
import io.payrelay.providers.ProviderResult.Succeeded;
import io.payrelay.providers.ProviderResult.Unknown;
import io.payrelay.providers.http.AnswerReader;
import io.payrelay.providers.http.HttpAnswer;
import java.time.Instant;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What an answer of Stripe means. Only what Stripe documents as not executed or as refused is
 * called so; everything else, whatever its status, is Unknown. An error is told by its type and
 * code, not by its status alone. Immutable, pure.
 */
final class StripeClassifier {

  private static final Set<String> ERRORS_OF_LIMITS = Set.of("rate_limit", "lock_timeout");
  private static final String PAYABLE = "requires_payment_method";

  private final boolean liveMode;
  private final @Nullable String account;

  /**
   * A result, and what has to be done before it may be believed.
   *
   * @param payable the payment intent that was declined and can still be paid, so that it has to be
   *     cancelled before the result is final; null: nothing to do
   */
  record Reading(ProviderResult result, @Nullable String payable) {

    Reading(ProviderResult result) {
      this(result, null);
    }

    /** What is true as long as the intent is not cancelled. */
    ProviderResult asLongAsPayable() {
      return payable != null && result instanceof Declined declined
          ? new Declined(declined.code(), payable, declined.amount(), true)
          : result;
    }
  }

  /**
   * A classifier.
   *
   * @param account the account that calls are made for; null: the key's own
   */
  StripeClassifier(boolean liveMode, @Nullable String account) {
    this.liveMode = liveMode;
    this.account = account;
  }

  /** The answer to a call that creates, retrieves or cancels a payment's intent. */
  Reading ofIntent(HttpAnswer answer, String paymentId, Instant now) {
    ProviderResult early = beforeBody(answer, now);
    if (early != null) {
      return new Reading(early);
    }
    JsonNode body = AnswerReader.json(answer, ProviderAnswer.BODY_BYTES_MAX);
    if (body == null) {
      return new Reading(AnswerReader.unreadable(answer));
    }
    if (answer.status() == 200) {
      return intent(body, paymentId);
    }
    JsonNode error = body.path("error");
    JsonNode named = error.path("payment_intent");
    ProviderResult refused = refused(answer, error, now);
    if (refused instanceof Declined declined && named.isObject()) {
      // The error's word is about this try; what the payment comes to is the intent's state.
      return ofNamedIntent(named, paymentId, declined);
    }
    return new Reading(refused);
  }

  /** The answer to a cancellation: the intent as it stands, a paid one included. */
  ProviderResult ofCancel(HttpAnswer answer, String paymentId, Instant now) {
    ProviderResult early = beforeBody(answer, now);
    if (early != null) {
      return early;
    }
    JsonNode body = AnswerReader.json(answer, ProviderAnswer.BODY_BYTES_MAX);
    if (body == null) {
      return AnswerReader.unreadable(answer);
    }
    JsonNode named = answer.status() == 200 ? body : body.path("error").path("payment_intent");
    return named.isObject()
        ? intent(named, paymentId).asLongAsPayable()
        : AnswerReader.unknown(answer);
  }

  /** One payment intent as it stands. */
  Reading intent(JsonNode intent, String paymentId) {
    String id = AnswerReader.id(intent.path("id"));
    if (id == null || !intent.path("object").asText("").equals("payment_intent")) {
      return new Reading(new Unknown("the answer holds no payment intent"));
    }
    if (!paymentId.equals(StripeMetadata.paymentId(intent))) {
      return new Reading(new Unknown("the answer names another " + StripeMetadata.PAYMENT_ID));
    }
    JsonNode live = intent.path("livemode");
    if (!live.isBoolean() || live.booleanValue() != liveMode) {
      return new Reading(new Unknown("the answer is not of the configured mode"));
    }
    Money asked = money(intent, "amount");
    JsonNode failure = intent.path("last_payment_error");
    return switch (intent.path("status").asText("")) {
      case "succeeded" -> new Reading(succeeded(intent, id));
      case "processing", "requires_action", "requires_confirmation", "requires_capture" ->
          new Reading(new Pending(id, asked, payee(intent)));
      case PAYABLE ->
          failure.isObject()
              ? new Reading(new Declined(declineCode(failure), id, asked), id)
              : new Reading(new Pending(id, asked, payee(intent)));
      case "canceled" ->
          new Reading(
              new Declined(
                  failure.isObject()
                      ? declineCode(failure)
                      : AnswerReader.code(intent.path("cancellation_reason")),
                  id,
                  asked));
      default -> new Reading(new Unknown("a payment intent of unknown status"));
    };
  }

  /** The answer to a call that creates or retrieves a refund. */
  ProviderResult ofRefund(HttpAnswer answer, String refundId, String transaction, Instant now) {
    ProviderResult early = beforeBody(answer, now);
    if (early != null) {
      return early;
    }
    JsonNode body = AnswerReader.json(answer, ProviderAnswer.BODY_BYTES_MAX);
    if (body == null) {
      return AnswerReader.unreadable(answer);
    }
    return answer.status() == 200
        ? refund(body, refundId, transaction)
        : refused(answer, body.path("error"), now);
  }

  /** One refund as it stands. */
  ProviderResult refund(JsonNode refund, String refundId, String transaction) {
    String id = AnswerReader.id(refund.path("id"));
    if (id == null || !refund.path("object").asText("").equals("refund")) {
      return new Unknown("the answer holds no refund");
    }
    if (!refundId.equals(StripeMetadata.refundId(refund))) {
      return new Unknown("the answer names another " + StripeMetadata.REFUND_ID);
    }
    if (!givesBack(refund, transaction)) {
      return new Unknown("the answer names another payment intent");
    }
    Money amount = money(refund, "amount");
    return switch (refund.path("status").asText("")) {
      case "succeeded" ->
          amount == null
              ? new Unknown("a succeeded refund without an amount")
              : new Succeeded(id, amount, null, created(refund));
      case "pending", "requires_action" -> new Pending(id, amount, null);
      case "failed" -> new Declined(AnswerReader.code(refund.path("failure_reason")), id, amount);
      case "canceled" -> new Declined("canceled", id, amount);
      default -> new Unknown("a refund of unknown status");
    };
  }

  /** Is it that money which the refund gives back? */
  static boolean givesBack(JsonNode refund, String transaction) {
    JsonNode given = refund.path(StripeRequest.transactionField(transaction));
    return transaction.equals(given.isObject() ? given.path("id").asText() : given.asText());
  }

  /** What a list answers instead of a page; null: it is a page. */
  @Nullable ProviderResult notAPage(HttpAnswer answer, @Nullable JsonNode body, Instant now) {
    ProviderResult early = beforeBody(answer, now);
    if (early != null) {
      return early;
    }
    if (body == null) {
      return AnswerReader.unreadable(answer);
    }
    boolean page =
        answer.status() == 200
            && body.path("object").asText("").equals("list")
            && body.path("data").isArray()
            && body.path("has_more").isBoolean();
    return page ? null : AnswerReader.unknown(answer);
  }

  /** Statuses that say the same whatever the body holds; null for the others. */
  private static @Nullable ProviderResult beforeBody(HttpAnswer answer, Instant now) {
    return switch (answer.status()) {
      // The key is wrong, or may not do this: an operator has to act, nothing was executed.
      case 401, 403 -> AnswerReader.authenticationRefused();
      // Limiters run before the endpoint does; a lock was not got.
      case 429 ->
          answer.header("stripe-should-retry").orElse("true").equals("false")
              ? AnswerReader.unknown(answer)
              : new NotProcessed("rate limited", AnswerReader.retryAfter(answer, now));
      default -> null;
    };
  }

  private static ProviderResult refused(HttpAnswer answer, JsonNode error, Instant now) {
    String type = error.path("type").asText("");
    String code = error.path("code").asText("");
    if (answer.status() == 409 || code.equals("idempotency_key_in_use")) {
      // By its type it can look like a wrong use of the key: it is our own earlier call.
      return code.equals("lock_timeout")
          ? new NotProcessed("lock timeout", AnswerReader.retryAfter(answer, now))
          : new Unknown("an earlier call with the same key still runs");
    }
    if (answer.status() >= 400 && answer.status() < 500) {
      if (type.equals("idempotency_error")) {
        return new KeyRefused("the key was used with other parameters");
      }
      if (ERRORS_OF_LIMITS.contains(code)) {
        return new NotProcessed(code, AnswerReader.retryAfter(answer, now));
      }
      boolean declined = answer.status() == 402 && type.equals("card_error");
      boolean invalid =
          (answer.status() == 400 || answer.status() == 402 || answer.status() == 404)
              && type.equals("invalid_request_error");
      if (declined || invalid) {
        return new Declined(declineCode(error), null, null);
      }
    }
    return AnswerReader.unknown(answer);
  }

  private Reading ofNamedIntent(JsonNode named, String paymentId, Declined declined) {
    Reading state = intent(named, paymentId);
    ProviderResult result = state.result();
    if (result instanceof Declined stands) {
      return new Reading(
          new Declined(declined.code(), stands.providerTransactionId(), stands.amount()),
          state.payable());
    }
    boolean untried =
        result instanceof Pending && !named.path("status").asText("").equals("processing");
    if (untried && result instanceof Pending pending) {
      // Refused before it was tried, and left open: somebody could still pay it.
      return new Reading(
          new Declined(declined.code(), pending.providerTransactionId(), pending.amount()),
          pending.providerTransactionId());
    }
    return state;
  }

  private ProviderResult succeeded(JsonNode intent, String id) {
    // What was received, not what was asked for: a partial capture must not look like all of it.
    Money received = money(intent, "amount_received");
    return received == null || received.amountMinor() == 0
        ? new Unknown("a succeeded payment intent without an amount received")
        : new Succeeded(id, received, payee(intent), null);
  }

  private @Nullable String payee(JsonNode intent) {
    JsonNode destination = intent.path("transfer_data").path("destination");
    String id = AnswerReader.id(destination.isObject() ? destination.path("id") : destination);
    return id == null ? account : id;
  }

  private static String declineCode(JsonNode error) {
    // "card_declined" alone says less than what the bank said.
    return AnswerReader.code(
        error.path(error.hasNonNull("decline_code") ? "decline_code" : "code"));
  }

  static @Nullable Money money(JsonNode object, String field) {
    JsonNode amount = object.path(field);
    return amount.isIntegralNumber() && amount.canConvertToLong()
        ? StripeAmounts.money(amount.longValue(), object.path("currency").asText("")).orElse(null)
        : null;
  }

  static @Nullable Instant created(JsonNode object) {
    JsonNode created = object.path("created");
    return created.isIntegralNumber() && created.canConvertToInt() && created.intValue() > 0
        ? Instant.ofEpochSecond(created.intValue())
        : null;
  }
}
