package io.payrelay.chargeworker;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class PartitionProgressTest {

  @Test
  void commitsNothingBehindARecordThatIsNotFinished() {
    PartitionProgress progress = new PartitionProgress();
    progress.polled(7);
    progress.polled(8);
    progress.polled(12);

    progress.finished(8);
    assertThat(progress.watermark()).isEqualTo(7);
    progress.finished(7);
    assertThat(progress.watermark()).isEqualTo(12);
    progress.finished(12);
    assertThat(progress.watermark()).isEqualTo(13);
    assertThat(progress.hasNews()).isTrue();
    progress.committed(13);
    assertThat(progress.hasNews()).isFalse();
  }
}
