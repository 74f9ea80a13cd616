package io.payrelay.platform.errors;

import static io.payrelay.platform.errors.Category.FATAL;
import static io.payrelay.platform.errors.Category.REJECTED;
import static io.payrelay.platform.errors.Category.RETRIABLE;
import static io.payrelay.platform.errors.Category.UNKNOWN_OUTCOME;
import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.SaslAuthenticationException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.jdbi.v3.core.JdbiException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

class FailuresTest {

  @ParameterizedTest
  @CsvSource({
    "08006, RETRIABLE", // connection lost
    "08001, RETRIABLE",
    "40001, RETRIABLE", // serialization
    "40P01, RETRIABLE", // deadlock
    "53300, RETRIABLE", // too many connections
    "25006, RETRIABLE", // read-only: a standby answered
    "25P03, RETRIABLE",
    "55006, RETRIABLE", // slot in use
    "55P03, RETRIABLE", // lock timeout
    "57014, RETRIABLE",
    "57P01, RETRIABLE", // terminated
    "57P03, RETRIABLE",
    "58030, RETRIABLE",
    "23505, RETRIABLE", // unique: look again
    "23514, REJECTED",
    "23503, REJECTED",
    "23001, REJECTED",
    "22001, REJECTED",
    "22P02, REJECTED",
    "25P02, FATAL",
    "28P01, FATAL",
    "3D000, FATAL",
    "42501, FATAL",
    "42P01, FATAL",
    "55000, FATAL",
    "XX001, FATAL",
  })
  void putsSqlStatesIntoCategories(String sqlState, Category category) {
    SQLException failure = new SQLException("x", sqlState);

    assertThat(Failures.categoryOf(failure)).isEqualTo(category);
    assertThat(Failures.categoryOf(new JdbiException("x", failure) {})).isEqualTo(category);
    assertThat(Failures.sqlState(new IllegalStateException(failure))).isEqualTo(sqlState);
  }

  /** What concerns one item is set aside with it; a missing privilege would be every item's. */
  @ParameterizedTest
  @CsvSource({
    "23505, true, true",
    "40P01, true, true",
    "23514, true, false",
    "22021, true, false",
    "54000, true, false",
    "P0001, true, false",
    "42501, false, false",
    "42P01, false, false",
    "28P01, false, false",
    "08006, false, false",
    "53100, false, false",
    "57014, false, false",
    "55P03, false, false",
    "XX001, false, false"
  })
  void tellsTheItemsTroubleFromEverybodys(String sqlState, boolean one, boolean moment) {
    JdbiException failure = new JdbiException("x", new SQLException("x", sqlState)) {};

    assertThat(Failures.concernsOne(failure)).isEqualTo(one);
    assertThat(Failures.ofTheMoment(failure)).isEqualTo(moment);
    assertThat(Failures.waitedForALock(failure)).isEqualTo(sqlState.equals("55P03"));
    assertThat(Failures.concernsOne(new IllegalStateException("a bug of ours"))).isTrue();
    assertThat(Failures.concernsOne(new PayrelayException(FATAL, "says what it is"))).isFalse();
  }

  static Stream<Arguments> exceptions() {
    return Stream.of(
        Arguments.of(new PayrelayException(UNKNOWN_OUTCOME, "x"), UNKNOWN_OUTCOME),
        Arguments.of(new PayrelayException(FATAL, "x", new SQLException("y", "40001")), FATAL),
        Arguments.of(new RuntimeException(new PayrelayException(REJECTED, "x")), REJECTED),
        Arguments.of(new IOException("x"), RETRIABLE),
        Arguments.of(new UncheckedIOException(new IOException("x")), RETRIABLE),
        Arguments.of(new TimeoutException("x"), RETRIABLE),
        Arguments.of(new SQLTransientConnectionException("pool is exhausted"), RETRIABLE),
        Arguments.of(new SQLException("x"), FATAL),
        Arguments.of(new org.apache.kafka.common.errors.TimeoutException("x"), RETRIABLE),
        Arguments.of(new ProducerFencedException("x"), RETRIABLE),
        Arguments.of(new KafkaException("x"), RETRIABLE),
        Arguments.of(new SaslAuthenticationException("x"), FATAL),
        Arguments.of(new TopicAuthorizationException("x"), FATAL),
        Arguments.of(new UnsupportedVersionException("x"), FATAL),
        Arguments.of(new ConfigException("x"), FATAL),
        Arguments.of(
            new KafkaException("Failed to construct kafka producer", new ConfigException("x")),
            FATAL),
        Arguments.of(new IllegalStateException("broken"), FATAL),
        Arguments.of(new NullPointerException(), FATAL));
  }

  @ParameterizedTest
  @MethodSource("exceptions")
  void putsExceptionsIntoCategories(Throwable failure, Category category) {
    assertThat(Failures.categoryOf(failure)).isEqualTo(category);
  }

  @Test
  void endsOnCyclesOfCauses() {
    RuntimeException first = new RuntimeException();
    RuntimeException second = new RuntimeException(first);
    first.initCause(second);

    assertThat(Failures.categoryOf(first)).isEqualTo(FATAL);
    assertThat(Failures.sqlState(first)).isNull();
  }
}
