package io.payrelay.platform.config;

import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * One environment variable: its name, what it means, its default and how its text becomes a value.
 * Immutable.
 *
 * @param <T> the value's type
 * @param defaultText text used where the variable is not set; null where it must be set
 */
public record Setting<T>(
    String name,
    String form,
    @Nullable String defaultText,
    String description,
    Function<String, T> parser,
    boolean secret) {

  /** Free text. */
  public static Setting<String> text(
      String name, @Nullable String defaultText, String description) {
    return new Setting<>(name, "text", defaultText, description, Function.identity(), false);
  }

  /** Text that is never shown. */
  public static Setting<Secret> secret(
      String name, @Nullable String defaultText, String description) {
    return new Setting<>(name, "secret", defaultText, description, Secret::new, true);
  }

  /** Secrets separated by commas, so that an old and a new one can be valid together. */
  public static Setting<List<Secret>> secrets(
      String name, @Nullable String defaultText, String description) {
    return new Setting<>(
        name,
        "secrets, comma-separated",
        defaultText,
        description,
        text -> items(text).map(Secret::new).toList(),
        true);
  }

  /** Texts separated by commas. */
  public static Setting<List<String>> list(
      String name, @Nullable String defaultText, String description) {
    return new Setting<>(
        name,
        "texts, comma-separated",
        defaultText,
        description,
        text -> items(text).toList(),
        false);
  }

  /** A whole number between two bounds, both allowed. */
  public static Setting<Integer> integer(
      String name, @Nullable String defaultText, int min, int max, String description) {
    return new Setting<>(
        name,
        "whole number, " + min + " to " + max,
        defaultText,
        description,
        text -> bounded(Integer.parseInt(text), min, max),
        false);
  }

  /** A duration in milliseconds, between two bounds; such names end in {@code _MS}. */
  public static Setting<Duration> millis(
      String name, @Nullable String defaultText, long minMs, long maxMs, String description) {
    return new Setting<>(
        name,
        "milliseconds, " + minMs + " to " + maxMs,
        defaultText,
        description,
        text -> Duration.ofMillis(bounded(Long.parseLong(text), minMs, maxMs)),
        false);
  }

  /** {@code true} or {@code false}. */
  public static Setting<Boolean> flag(String name, String defaultText, String description) {
    return new Setting<>(
        name, "true or false", defaultText, description, Setting::parseFlag, false);
  }

  /** An absolute http or https address; an empty text where the default is empty. */
  public static Setting<URI> uri(String name, @Nullable String defaultText, String description) {
    return new Setting<>(
        name, "http or https address", defaultText, description, Setting::parseUri, false);
  }

  /** A path in the file system; empty means none. */
  public static Setting<Path> path(String name, @Nullable String defaultText, String description) {
    return new Setting<>(name, "path", defaultText, description, Path::of, false);
  }

  private static Stream<String> items(String text) {
    return Arrays.stream(text.split(",", -1)).map(String::strip).filter(item -> !item.isEmpty());
  }

  private static int bounded(int value, int min, int max) {
    return Math.toIntExact(bounded((long) value, min, max));
  }

  private static long bounded(long value, long min, long max) {
    if (value < min || value > max) {
      throw new IllegalArgumentException(value + " is not between " + min + " and " + max);
    }
    return value;
  }

  private static Boolean parseFlag(String text) {
    return switch (text) {
      case "true" -> true;
      case "false" -> false;
      default -> throw new IllegalArgumentException("neither true nor false");
    };
  }

  private static URI parseUri(String text) {
    try {
      URI uri = new URI(text);
      boolean http = "http".equals(uri.getScheme()) || "https".equals(uri.getScheme());
      if (!text.isEmpty() && (!http || uri.getHost() == null)) {
        throw new IllegalArgumentException("not an absolute http or https address");
      }
      return uri;
    } catch (URISyntaxException e) {
      throw new IllegalArgumentException("not an address: " + e.getReason(), e);
    }
  }
}
