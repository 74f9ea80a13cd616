package io.payrelay.providers.stripe;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import java.net.URLEncoder;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Parameters of a call to Stripe, {@code application/x-www-form-urlencoded} with brackets for what
 * is nested. In alphabetical order, so that equal parameters give equal bytes. Not thread-safe.
 */
final class StripeForm {

  private final Map<String, String> parameters = new TreeMap<>();

  StripeForm put(String name, @Nullable String value) {
    if (value != null) {
      parameters.put(name, value);
    }
    return this;
  }

  StripeForm put(String name, long value) {
    return put(name, Long.toString(value));
  }

  StripeForm metadata(String name, @Nullable String value) {
    return put("metadata[" + name + "]", value);
  }

  byte[] bytes() {
    return text().getBytes(US_ASCII);
  }

  /** As a body or as a query. */
  String text() {
    return parameters.entrySet().stream()
        .map(parameter -> encode(parameter.getKey()) + "=" + encode(parameter.getValue()))
        .collect(Collectors.joining("&"));
  }

  /** For a place in a path as well. */
  static String encode(String text) {
    return URLEncoder.encode(text, UTF_8).replace("+", "%20");
  }
}
