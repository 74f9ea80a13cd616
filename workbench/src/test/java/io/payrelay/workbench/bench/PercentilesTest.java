package io.payrelay.workbench.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

final class PercentilesTest {

  @Test
  void areValuesThatWereMeasuredWhateverTheirOrder() {
    long[] backwards = LongStream.rangeClosed(1, 200).map(i -> (201 - i) * 1_000_000).toArray();

    Latency.Percentiles percentiles = Latency.Percentiles.of(backwards);

    assertThat(percentiles).isEqualTo(new Latency.Percentiles(100, 190, 198, 200));
    assertThat(backwards[0]).isEqualTo(200_000_000);
  }

  @Test
  void ofOneValueAreThatValue() {
    assertThat(Latency.Percentiles.of(new long[] {7_000_000}))
        .isEqualTo(new Latency.Percentiles(7, 7, 7, 7));
  }
}
