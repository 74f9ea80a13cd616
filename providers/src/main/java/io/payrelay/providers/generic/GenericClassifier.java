package io.payrelay.providers.generic;

import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.payrelay.payments.money.Money;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.ProviderAnswer;
import io.payrelay.providers.ProviderResult;
import io.payrelay.providers.ProviderResult.Declined;
import io.payrelay.providers.ProviderResult.KeyRefused;
import io.payrelay.providers.ProviderResult.NotFound;
import io.payrelay.providers.ProviderResult.NotProcessed;
import io.payrelay.providers.ProviderResult.Pending;
import io.payrelay.providers.ProviderResult.Succeeded;
import io.payrelay.providers.ProviderResult.Unknown;
import java.io.IOException;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What an answer of the generic provider means. Only what its protocol documents as not executed or
 * as refused is called so; everything else, whatever its status, is Unknown. Pure, stateless.
 */
final class GenericClassifier {

  /** Nothing gets better by hurrying before somebody has changed the key. */
  private static final Duration AUTHENTICATION_PAUSE = Duration.ofSeconds(60);

  /** A provider that asks for more than this is asked again earlier: a payment waits. */
  private static final Duration RETRY_AFTER_MAX = Duration.ofMinutes(5);

  private static final String NO_CODE = "unspecified";
  private static final Pattern ID = Pattern.compile("[0-9A-Za-z][0-9A-Za-z_.:-]{0,254}");
  private static final Pattern CODE = Pattern.compile("[0-9A-Za-z_.-]{1,64}");
  private static final Pattern CURRENCY = Pattern.compile("[A-Z]{3}");
  private static final int ACCOUNT_LENGTH_MAX = 128;
  private static final ObjectReader JSON =
      JsonMapper.builder()
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .build()
          .reader();

  private GenericClassifier() {}

  /** The answer to a charge. */
  static ProviderResult ofCharge(GenericAnswer answer, String paymentId, Instant now) {
    if (answer.status() == 401) {
      return new NotProcessed(PaymentProvider.AUTHENTICATION_REFUSED, AUTHENTICATION_PAUSE);
    }
    if (answer.status() == 429) {
      return new NotProcessed("rate limited", retryAfter(answer, now));
    }
    JsonNode body = json(answer);
    if (body == null) {
      return unreadable(answer);
    }
    String error = body.path("error").path("type").asText("");
    return switch (answer.status()) {
      case 200 -> charge(body, paymentId);
      case 400 ->
          error.equals("invalid_request")
              ? new Declined(code(body.path("error").path("code")), null, null)
              : unknown(answer);
      case 402 -> error.equals("card_declined") ? declined(body, paymentId) : unknown(answer);
      case 409 ->
          new Unknown(
              error.equals("idempotency_key_in_use")
                  ? "an earlier call with the same key still runs"
                  : "status 409");
      case 422 ->
          error.equals("idempotency_mismatch")
              ? new KeyRefused("the key was used with another body")
              : unknown(answer);
      case 503 ->
          error.equals("not_processed")
              ? new NotProcessed("not processed", retryAfter(answer, now))
              : unknown(answer);
      default -> unknown(answer);
    };
  }

  /** The answer to a query: all charges it shows that matter, the one that counts first. */
  static List<ProviderResult> ofQuery(GenericAnswer answer, String paymentId, Instant now) {
    if (answer.status() == 401) {
      return List.of(
          new NotProcessed(PaymentProvider.AUTHENTICATION_REFUSED, AUTHENTICATION_PAUSE));
    }
    if (answer.status() == 429) {
      return List.of(new NotProcessed("rate limited", retryAfter(answer, now)));
    }
    JsonNode body = json(answer);
    if (body == null) {
      return List.of(unreadable(answer));
    }
    if (answer.status() != 200 || !body.path("data").isArray()) {
      return List.of(unknown(answer));
    }
    List<ProviderResult> results = new ArrayList<>();
    for (JsonNode charge : body.path("data")) {
      ProviderResult result = charge(charge, paymentId);
      if (result instanceof Unknown) {
        // One that cannot be read may be the one that moved money.
        return List.of(result);
      }
      results.add(result);
    }
    return results.isEmpty() ? List.of(new NotFound()) : whatCounts(results);
  }

  /** The answer to a cancellation: the charge as it stands, a paid one included. */
  static ProviderResult ofCancel(GenericAnswer answer, String paymentId) {
    JsonNode body = json(answer);
    if (body == null) {
      return unreadable(answer);
    }
    return switch (answer.status()) {
      case 200 -> charge(body, paymentId);
      case 409 ->
          body.path("charge").isObject() ? charge(body.path("charge"), paymentId) : unknown(answer);
      default -> unknown(answer);
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
    String id = charge.path("id").asText("");
    if (!charge.isObject() || !ID.matcher(id).matches()) {
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
              ? new Declined(code(charge.path("failure_code")), id, amount, true)
              : new Pending(id, amount, payee);
      case "failed" -> new Declined(code(charge.path("failure_code")), id, amount);
      case "canceled" -> new Declined("canceled", id, amount);
      default -> new Unknown("a charge of unknown status");
    };
  }

  private static ProviderResult declined(JsonNode body, String paymentId) {
    String code = code(body.path("error").path("code"));
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

  private static @Nullable Money money(JsonNode charge) {
    JsonNode amount = charge.path("amount");
    String currency = charge.path("currency").asText("");
    boolean readable =
        amount.isIntegralNumber()
            && amount.canConvertToLong()
            && amount.longValue() > 0
            && CURRENCY.matcher(currency).matches();
    return readable ? new Money(amount.longValue(), currency) : null;
  }

  private static @Nullable Instant instant(JsonNode node) {
    try {
      return node.isTextual() ? Instant.parse(node.textValue()) : null;
    } catch (DateTimeException e) {
      // The time is for people; the money is not doubted for it.
      return null;
    }
  }

  private static String code(JsonNode node) {
    String code = node.asText("");
    return CODE.matcher(code).matches() ? code : NO_CODE;
  }

  /** Null where it is not one JSON value that came as JSON. */
  private static @Nullable JsonNode json(GenericAnswer answer) {
    String type = answer.contentType() == null ? "" : answer.contentType();
    int parameters = type.indexOf(';');
    String media =
        (parameters < 0 ? type : type.substring(0, parameters)).strip().toLowerCase(Locale.ROOT);
    boolean json = media.equals("application/json") || media.endsWith("+json");
    if (!json || answer.body().length > ProviderAnswer.BODY_BYTES_MAX) {
      return null;
    }
    try {
      JsonNode node = JSON.readTree(answer.body());
      return node == null || node.isMissingNode() ? null : node;
    } catch (IOException e) {
      return null;
    }
  }

  private static @Nullable Duration retryAfter(GenericAnswer answer, Instant now) {
    String text = answer.retryAfter();
    if (text == null) {
      return null;
    }
    Duration asked;
    try {
      asked =
          text.matches("\\d{1,9}")
              ? Duration.ofSeconds(Long.parseLong(text))
              : Duration.between(
                  now, ZonedDateTime.parse(text, DateTimeFormatter.RFC_1123_DATE_TIME).toInstant());
    } catch (DateTimeException e) {
      return null;
    }
    if (asked.isNegative()) {
      return Duration.ZERO;
    }
    return asked.compareTo(RETRY_AFTER_MAX) > 0 ? RETRY_AFTER_MAX : asked;
  }

  private static Unknown unknown(GenericAnswer answer) {
    return new Unknown("status " + answer.status());
  }

  private static Unknown unreadable(GenericAnswer answer) {
    return new Unknown("status " + answer.status() + " without a readable JSON body");
  }
}
