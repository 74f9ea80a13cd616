package io.payrelay.app;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class CardNumbersTest {

  @ParameterizedTest
  @CsvSource({
    "'{\"card\":\"4111111111111111\"}', '{\"card\":\"************1111\"}'",
    "pan 4111 1111 1111 1111!, pan ************1111!",
    "5500-0000-0000-0004 and 340000000000009, ************0004 and ***********0009",
    "4111 1111 1111 1111 123, ************1111 123",
    "2026-11-29 4111111111111111, 2026-11-29 ************1111",
    "4111111111111111 12/27, ************1111 12/27",
    "1 22 333 4444 4111111111111111 4111-1111-1111-1111 5, 1 22 333 4444 ************1111 ************1111 5"
  })
  void hidesWhatLooksLikeOne(String text, String shown) {
    assertThat(CardNumbers.masked(text)).isEqualTo(shown);
  }

  @ParameterizedTest
  @CsvSource({
    "4111111111111112",
    "1764453600000000123456789",
    "0190c4a2-b7e1-7c3e-9d5f-2a6b8c4d1e0f",
    "amount 1250"
  })
  void leavesEverythingElse(String text) {
    assertThat(CardNumbers.masked(text)).isEqualTo(text);
  }
}
