package io.payrelay.providers.generic;

import com.fasterxml.jackson.databind.JsonNode;
import io.payrelay.payments.money.Money;
import io.payrelay.providers.ProviderAnswer;
import io.payrelay.providers.ProviderResult;
import io.payrelay.providers.ProviderResult.Declined;
import io.payrelay.providers.ProviderResult.KeyRefused;
import io.payrelay.providers.ProviderResult.NotFound;
import io.payrelay.providers.ProviderResult.NotProcessed;
import io.payrelay.providers.ProviderResult.Pending;
import io.payrelay.providers.ProviderResult.Succeeded;
import io.payrelay.providers.ProviderResult.Unknown;
import io.payrelay.providers.http.AnswerReader;
import io.payrelay.providers.http.HttpAnswer;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What an answer of the generic provider means. Only what its protocol documents as not executed or
 * as refused is called so; everything else, whatever its status, is Unknown. Pure, stateless.
 */
final class GenericClassifier {

  private static final Pattern CURRENCY = Pattern.compile("[A-Z]{3}");
  private static final int ACCOUNT_LENGTH_MAX = 128;

  private GenericClassifier() {}

  /** The answer to a charge. */
  static ProviderResult ofCharge(HttpAnswer answer, String paymentId, Instant now) {
    return ofOrder(answer, body -> charge(body, paymentId), body -> declined(body, paymentId), now);
  }

  /** The answer to a query: all charges it shows that matter, the one that counts first. */
  static List<ProviderResult> ofQuery(HttpAnswer answer, String paymentId, Instant now) {
    return ofList(answer, charge -> charge(charge, paymentId), now);
  }

  /** The answer to a refund. */
  static ProviderResult ofRefund(HttpAnswer answer, String refundId, Instant now) {
    return ofOrder(
        answer, body -> refund(body, refundId), body -> AnswerReader.unknown(answer), now);
  }

  /** The answer to a query of a refund: all it shows that matter, the one that counts first. */
  static List<ProviderResult> ofRefundQuery(HttpAnswer answer, String refundId, Instant now) {
    return ofList(answer, refund -> refund(refund, refundId), now);
  }

  /** What money was to be moved by, and what is refused with 402. */
  private static ProviderResult ofOrder(
      HttpAnswer answer,
      Function<JsonNode, ProviderResult> made,
      Function<JsonNode, ProviderResult> declined,
      Instant now) {
    if (answer.status() == 401) {
      return AnswerReader.authenticationRefused();
    }
    if (answer.status() == 429) {
      return new NotProcessed("rate limited", AnswerReader.retryAfter(answer, now));
    }
    JsonNode body = json(answer);
    if (body == null) {
      return AnswerReader.unreadable(answer);
    }
    ProviderResult unknown = AnswerReader.unknown(answer);
    String error = body.path("error").path("type").asText("");
    return switch (answer.status()) {
      case 200 -> made.apply(body);
      case 400 ->
          error.equals("invalid_request")
              ? new Declined(AnswerReader.code(body.path("error").path("code")), null, null)
              : unknown;
      case 402 -> error.equals("card_declined") ? declined.apply(body) : unknown;
      case 409 ->
          new Unknown(
              error.equals("idempotency_key_in_use")
                  ? "an earlier call with the same key still runs"
                  : "status 409");
      case 422 ->
          error.equals("idempotency_mismatch")
              ? new KeyRefused("the key was used with another body")
              : unknown;
      case 503 ->
          error.equals("not_processed")
              ? new NotProcessed("not processed", AnswerReader.retryAfter(answer, now))
              : unknown;
      default -> unknown;
    };
  }

  private static List<ProviderResult> ofList(
      HttpAnswer answer, Function<JsonNode, ProviderResult> one, Instant now) {
    if (answer.status() == 401) {
      return List.of(AnswerReader.authenticationRefused());
    }
    if (answer.status() == 429) {
      return List.of(new NotProcessed("rate limited", AnswerReader.retryAfter(answer, now)));
    }
    JsonNode body = json(answer);
    if (body == null) {
      return List.of(AnswerReader.unreadable(answer));
    }
    if (answer.status() != 200 || !body.path("data").isArray()) {
      return List.of(AnswerReader.unknown(answer));
    }
    List<ProviderResult> results = new ArrayList<>();
    for (JsonNode found : body.path("data")) {
      ProviderResult result = one.apply(found);
      if (result instanceof Unknown) {
        // One that cannot be read may be the one that moved money.
        return List.of(result);
      }
      results.add(result);
    }
    return results.isEmpty() ? List.of(new NotFound()) : whatCounts(results);
  }

  /** The answer to a cancellation: the charge as it stands, a paid one included. */
  static ProviderResult ofCancel(HttpAnswer answer, String paymentId) {
    JsonNode body = json(answer);
    if (body == null) {
      return AnswerReader.unreadable(answer);
    }
    return switch (answer.status()) {
      case 200 -> charge(body, paymentId);
      case 409 ->
          body.path("charge").isObject()
              ? charge(body.path("charge"), paymentId)
              : AnswerReader.unknown(answer);
      default -> AnswerReader.unknown(answer);
    };
  }

  /** Each charge that moved money; else the one that may still; else one that did not. */
  private static List<ProviderResult> whatCounts(List<ProviderResult> results) {
    List<ProviderResult> succeeded = results.stream().filter(Succeeded.class::isInstance).toList();
    if (!succeeded.isEmpty()) {
      return succeeded;
    }
    // What is worked on before what waits for another try: cancelling that says nothing of this.
    return results.stream()
        .filter(Pending.class::isInstance)
        .findFirst()
        .or(() -> results.stream().filter(GenericClassifier::stillPayable).findFirst())
        .map(List::of)
        .orElseGet(() -> List.of(results.get(results.size() - 1)));
  }

  private static boolean stillPayable(ProviderResult result) {
    return result instanceof Declined declined && declined.stillPayable();
  }

  private static ProviderResult charge(JsonNode charge, String paymentId) {
    String id = AnswerReader.id(charge.path("id"));
    if (!charge.isObject() || id == null) {
      return new Unknown("the answer holds no charge");
    }
    if (!paymentId.equals(charge.path("merchant_transaction_id").asText(""))) {
      return new Unknown("the answer names another merchant_transaction_id");
    }
    Money amount = money(charge);
    JsonNode account = charge.path("payee_account");
    String payee =
        account.isTextual() && account.textValue().length() <= ACCOUNT_LENGTH_MAX
            ? account.textValue().replace("\0", "")
            : null;
    return switch (charge.path("status").asText("")) {
      case "succeeded" ->
          amount == null
              ? new Unknown("a succeeded charge without amount or currency")
              : new Succeeded(id, amount, payee, instant(charge.path("created_at")));
      case "pending" ->
          charge.path("failure_code").isTextual()
              ? new Declined(AnswerReader.code(charge.path("failure_code")), id, amount, true)
              : new Pending(id, amount, payee);
      case "failed" -> new Declined(AnswerReader.code(charge.path("failure_code")), id, amount);
      case "canceled" -> new Declined("canceled", id, amount);
      default -> new Unknown("a charge of unknown status");
    };
  }

  private static ProviderResult refund(JsonNode refund, String refundId) {
    String id = AnswerReader.id(refund.path("id"));
    if (!refund.isObject() || id == null) {
      return new Unknown("the answer holds no refund");
    }
    if (!refundId.equals(refund.path("merchant_refund_id").asText(""))) {
      return new Unknown("the answer names another merchant_refund_id");
    }
    Money amount = money(refund);
    return switch (refund.path("status").asText("")) {
      case "succeeded" ->
          amount == null
              ? new Unknown("a succeeded refund without amount or currency")
              : new Succeeded(id, amount, null, instant(refund.path("created_at")));
      case "pending" -> new Pending(id, amount, null);
      case "failed" -> new Declined(AnswerReader.code(refund.path("failure_code")), id, amount);
      default -> new Unknown("a refund of unknown status");
    };
  }

  private static ProviderResult declined(JsonNode body, String paymentId) {
    String code = AnswerReader.code(body.path("error").path("code"));
    JsonNode charge = body.path("charge");
    if (charge.isMissingNode() || charge.isNull()) {
      return new Declined(code, null, null);
    }
    ProviderResult result = charge(charge, paymentId);
    if (result instanceof Declined declined) {
      return new Declined(
          code, declined.providerTransactionId(), declined.amount(), declined.stillPayable());
    }
    return result instanceof Unknown
        ? result
        : new Unknown("declined, with a charge that is not failed");
  }

  static @Nullable Money money(JsonNode charge) {
    JsonNode amount = charge.path("amount");
    String currency = charge.path("currency").asText("");
    boolean readable =
        amount.isIntegralNumber()
            && amount.canConvertToLong()
            && amount.longValue() > 0
            && CURRENCY.matcher(currency).matches();
    return readable ? new Money(amount.longValue(), currency) : null;
  }

  static @Nullable Instant instant(JsonNode node) {
    try {
      return node.isTextual() ? Instant.parse(node.textValue()) : null;
    } catch (DateTimeException e) {
      // The time is for people; the money is not doubted for it.
      return null;
    }
  }

  /** Null where it is not one JSON value that came as JSON. */
  static @Nullable JsonNode json(HttpAnswer answer) {
    return AnswerReader.json(answer, ProviderAnswer.BODY_BYTES_MAX);
  }
}
