package io.payrelay.chargeworker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.payrelay.platform.errors.Category;
import io.payrelay.platform.errors.PayrelayException;
import java.sql.SQLException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jdbi.v3.core.ConnectionException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class RefusalsTest {

  private final AtomicInteger tries = new AtomicInteger();

  @ParameterizedTest
  @CsvSource({"23505, 6", "40001, 6", "40P01, 6", "23503, 1", "22021, 1", "54000, 1"})
  void isOverAfterSoManyTries(String sqlState, int expected) {
    RuntimeException refusal = fail(new ConnectionException(new SQLException("no", sqlState)));

    assertThat(refusal).hasRootCauseInstanceOf(SQLException.class);
    assertThat(Refusals.reason(refusal)).isEqualTo(sqlState);
    assertThat(tries).hasValue(expected);
  }

  @Test
  void takesAFaultOfOursForTheItemsTrouble() {
    assertThat(Refusals.reason(fail(new IllegalArgumentException("canary"))))
        .isEqualTo("IllegalArgumentException");
    assertThat(fail(new PayrelayException(Category.REJECTED, "no"))).isNotNull();
    assertThat(tries).hasValue(2);
  }

  @Test
  void waitsWhereTheDatabaseIsAwayOrWrong() {
    for (String sqlState : new String[] {"08006", "57P01", "42501", null}) {
      ConnectionException away = new ConnectionException(new SQLException("away", sqlState));
      assertThatThrownBy(() -> fail(away)).isSameAs(away);
    }
    PayrelayException fatal = new PayrelayException(Category.FATAL, "wrong");
    assertThatThrownBy(() -> fail(fatal)).isSameAs(fatal);
  }

  @Test
  void isDoneWhereALaterTrySucceeds() {
    RuntimeException refusal =
        Refusals.refusal(
            () -> {
              if (tries.incrementAndGet() < 3) {
                throw new ConnectionException(new SQLException("other came first", "23505"));
              }
            });

    assertThat(refusal).isNull();
    assertThat(tries).hasValue(3);
  }

  private RuntimeException fail(RuntimeException failure) {
    return Refusals.refusal(
        () -> {
          tries.incrementAndGet();
          throw failure;
        });
  }
}
