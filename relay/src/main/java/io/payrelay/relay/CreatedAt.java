package io.payrelay.relay;

import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;

/**
 * The outbox's {@code created_at} as microseconds since 1970. The table refuses times at which no
 * row can have been written, but rows from before it did so may hold any, infinity included: none
 * of them may end a recovery, and nothing is concluded from their time. Stateless.
 */
final class CreatedAt {

  static final long MINUS_INFINITY = Long.MIN_VALUE;
  static final long INFINITY = Long.MAX_VALUE;

  /** Infinity is no bigint. */
  static final String USEC_SQL =
      """
      CASE created_at WHEN 'infinity' THEN 9223372036854775807
        WHEN '-infinity' THEN -9223372036854775808
        ELSE (extract(epoch FROM created_at) * 1000000)::bigint END""";

  /** Nothing was written before it: there was no Payrelay. */
  static final Instant FIRST = Instant.parse("2000-01-01T00:00:00Z");

  private static final String FIRST_SQL = "timestamptz '2000-01-01 00:00:00+00'";

  /** Whether it can be the time at which the row was written. */
  static final String TRUE_SQL =
      "(created_at >= " + FIRST_SQL + " AND created_at <= now() + interval '10 minutes')";

  /** What is told of the row: its own time, or now where that cannot be true. */
  static final String TOLD_USEC_SQL =
      "(extract(epoch FROM CASE WHEN "
          + TRUE_SQL
          + " THEN created_at ELSE now() END) * 1000000)::bigint";

  private CreatedAt() {}

  /** As a parameter: the driver writes the two extremes as -infinity and infinity. */
  static OffsetDateTime parameter(long usec) {
    if (usec == MINUS_INFINITY) {
      return OffsetDateTime.MIN;
    }
    return usec == INFINITY
        ? OffsetDateTime.MAX
        : RecoveryFacts.instant(usec).atOffset(ZoneOffset.UTC);
  }

  /** Rows with such a time are of any transactions: it does not say which belong together. */
  static boolean tellsTransactionsApart(long usec) {
    return usec != MINUS_INFINITY && usec != INFINITY;
  }
}
