package io.payrelay.app;

import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Times and durations on the command line. Stateless. */
final class TimeOptions {

  private static final Pattern DURATION = Pattern.compile("(\\d{1,6})(s|m|h|d)");

  private TimeOptions() {}

  /** {@code 30s, 90m, 24h, 2d}, or the ISO-8601 form. */
  static final class ToDuration implements ITypeConverter<Duration> {
    @Override
    public Duration convert(String text) {
      Matcher matcher = DURATION.matcher(text);
      if (matcher.matches()) {
        long count = Long.parseLong(matcher.group(1));
        return switch (matcher.group(2)) {
          case "s" -> Duration.ofSeconds(count);
          case "m" -> Duration.ofMinutes(count);
          case "h" -> Duration.ofHours(count);
          default -> Duration.ofDays(count);
        };
      }
      try {
        Duration duration = Duration.parse(text.toUpperCase(Locale.ROOT));
        if (!duration.isNegative()) {
          return duration;
        }
      } catch (DateTimeException e) {
        throw new TypeConversionException(refusal(text));
      }
      throw new TypeConversionException(refusal(text));
    }

    private static String refusal(String text) {
      return "\"%s\" is no length of time: write it like 90m, 24h or 2d".formatted(text);
    }
  }

  /** ISO-8601 with a zone: a local time means another moment on another machine. */
  static final class ToInstant implements ITypeConverter<Instant> {
    @Override
    public Instant convert(String text) {
      try {
        return OffsetDateTime.parse(text).toInstant();
      } catch (DateTimeException e) {
        throw new TypeConversionException(
            "\"%s\" is no time with a zone: write it like 2026-11-29T12:00:00Z or 2026-11-29T13:00:00+01:00"
                .formatted(text));
      }
    }
  }
}
