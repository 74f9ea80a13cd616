package io.payrelay.providers.http;

import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectReader;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.payrelay.providers.PaymentProvider;
import io.payrelay.providers.ProviderResult.NotProcessed;
import io.payrelay.providers.ProviderResult.Unknown;
import java.io.IOException;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.util.Locale;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads what every provider's answers have in common. Pure, stateless. */
public final class AnswerReader {

  /** Nothing gets better by hurrying before somebody has changed the key. */
  private static final Duration AUTHENTICATION_PAUSE = Duration.ofSeconds(60);

  /** A provider that asks for more than this is asked again earlier: a payment waits. */
  private static final Duration RETRY_AFTER_MAX = Duration.ofMinutes(5);

  private static final String NO_CODE = "unspecified";
  private static final Pattern ID = Pattern.compile("[0-9A-Za-z][0-9A-Za-z_.:-]{0,254}");
  private static final Pattern CODE = Pattern.compile("[0-9A-Za-z_.-]{1,64}");
  private static final ObjectReader JSON =
      JsonMapper.builder()
          // A field given twice reads differently in every parser.
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .build()
          .reader();

  private AnswerReader() {}

  /** The body; null where it is not one JSON value, within the limit, that came as JSON. */
  public static @Nullable JsonNode json(HttpAnswer answer, int bytesMax) {
    String type = answer.header("content-type").orElse("");
    int parameters = type.indexOf(';');
    String media =
        (parameters < 0 ? type : type.substring(0, parameters)).strip().toLowerCase(Locale.ROOT);
    boolean json = media.equals("application/json") || media.endsWith("+json");
    if (!json || answer.body().length > bytesMax) {
      return null;
    }
    try {
      JsonNode node = JSON.readTree(answer.body());
      return node == null || node.isMissingNode() ? null : node;
    } catch (IOException e) {
      return null;
    }
  }

  /** How long the provider asks us to wait, in seconds or as a date; null where it does not. */
  public static @Nullable Duration retryAfter(HttpAnswer answer, Instant now) {
    String text = answer.header("retry-after").orElse(null);
    if (text == null) {
      return null;
    }
    if (text.matches("\\d{10,}")) {
      return RETRY_AFTER_MAX;
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

  /** Our own credentials were refused: nothing was looked at. */
  public static NotProcessed authenticationRefused() {
    return new NotProcessed(PaymentProvider.AUTHENTICATION_REFUSED, AUTHENTICATION_PAUSE);
  }

  /** The text, where it can be a provider's id of something. */
  public static @Nullable String id(JsonNode node) {
    return node.isTextual() && ID.matcher(node.textValue()).matches() ? node.textValue() : null;
  }

  /** A stable code; a sentence, which may hold anything, becomes "unspecified". */
  public static String code(JsonNode node) {
    String code = node.asText("");
    return CODE.matcher(code).matches() ? code : NO_CODE;
  }

  /** Says no more than the status. */
  public static Unknown unknown(HttpAnswer answer) {
    return new Unknown("status " + answer.status());
  }

  /** A proxy's page, half an answer, too much of one. */
  public static Unknown unreadable(HttpAnswer answer) {
    return new Unknown("status " + answer.status() + " without a readable JSON body");
  }
}
