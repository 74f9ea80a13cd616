package io.payrelay.workbench;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class ChaosProcessTest {

  /**
   * 3: out of memory; 137: kill -9, ours or the kernel's; 86: at the point where it was told to.
   */
  @ParameterizedTest
  @CsvSource({
    "true, false, 137, true",
    "false, true, 86, true",
    "false, false, 137, false",
    "false, true, 137, false",
    "true, true, 3, false",
    "true, false, 0, false",
    "false, false, 86, false",
    "true, false, 143, false"
  })
  void onlyWhatWeEndedIsAKill(boolean killed, boolean ordered, int exitCode, boolean ours) {
    assertThat(ChaosProcess.isOurs(killed, ordered, exitCode)).isEqualTo(ours);
  }
}
