package io.payrelay.simulator.stripe;

import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * The parameters of one call, decoded, under their names with brackets: {@code metadata[order]}.
 * Immutable.
 */
public final class StripeParameters {
  private static final Pattern NUMBER = Pattern.compile("-?[0-9]{1,15}");

  private final Map<String, String> values;

  private StripeParameters(Map<String, String> values) {
    this.values = values;
  }

  /** Reads {@code a=b&c[d]=e}: a body, or what follows the question mark. */
  public static StripeParameters parse(String form) {
    Map<String, String> values = new TreeMap<>();
    for (String pair : form.split("&", -1)) {
      if (pair.isEmpty()) {
        continue;
      }
      int equals = pair.indexOf('=');
      String name = decode(equals < 0 ? pair : pair.substring(0, equals));
      String value = equals < 0 ? "" : decode(pair.substring(equals + 1));
      values.put(name.endsWith("[]") ? nextPlace(values, name) : name, value);
    }
    return new StripeParameters(values);
  }

  /** The same for equal parameters in any order. */
  public String canonical() {
    return values.entrySet().stream()
        .map(value -> value.getKey() + "=" + value.getValue())
        .collect(Collectors.joining("\n"));
  }

  /** The text; null where there is none or it is empty. */
  public @Nullable String text(String name) {
    String value = values.get(name);
    return value == null || value.isEmpty() ? null : value;
  }

  /** The whole number; null where there is none. */
  public @Nullable Long number(String name) {
    String value = text(name);
    if (value == null) {
      return null;
    }
    if (!NUMBER.matcher(value).matches()) {
      throw StripeError.invalid("parameter_invalid_integer", name, "Invalid integer: " + name);
    }
    return Long.valueOf(value);
  }

  public boolean flag(String name) {
    return "true".equals(values.get(name));
  }

  /** What is nested under the name, one level deep. */
  public Map<String, String> map(String name) {
    Map<String, String> map = new TreeMap<>();
    String prefix = name + "[";
    values.forEach(
        (key, value) -> {
          if (key.startsWith(prefix) && key.endsWith("]")) {
            map.put(key.substring(prefix.length(), key.length() - 1), value);
          }
        });
    return map;
  }

  /**
   * Refuses what Stripe would not know.
   *
   * @param known names without brackets
   */
  public void onlyOf(Collection<String> known) {
    for (String name : values.keySet()) {
      int bracket = name.indexOf('[');
      if (!known.contains(bracket < 0 ? name : name.substring(0, bracket))) {
        throw StripeError.invalid("parameter_unknown", name, "Received unknown parameter: " + name);
      }
    }
  }

  /** The next free place of a list that is given without numbers. */
  private static String nextPlace(Map<String, String> values, String name) {
    int index = 0;
    while (values.containsKey(indexed(name, index))) {
      index++;
    }
    return indexed(name, index);
  }

  private static String indexed(String name, int index) {
    return name.substring(0, name.length() - 1) + index + "]";
  }

  private static String decode(String text) {
    return URLDecoder.decode(text, StandardCharsets.UTF_8);
  }
}
