package io.payrelay.relay;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.LongRange;
import org.junit.jupiter.api.Test;

class PositionStoreTest {

  @Property(tries = 200)
  void positionSurvivesItsRecord(
      @ForAll @LongRange(min = 1) long lsn,
      @ForAll @LongRange(min = 1) long txId,
      @ForAll @LongRange(min = 0) long rows) {
    Position position =
        new Position(lsn, 17, txId, rows, lsn, new DatabaseIdentity("7423", 3, "cluster", "7.8"));

    assertThat(PositionStore.decode(PositionStore.encode(position))).isEqualTo(position);
  }

  @Test
  void recordOfAnEarlierBuildIsRead() {
    String earlier =
        """
        {"commit_lsn": "0/10", "commit_time_usec": 17, "tx_id": 5, "rows_of_tx": 2, "system_id": "7423",
        "timeline": 1, "kafka_cluster_id": "cluster"}
        """;

    assertThat(PositionStore.decode(earlier.getBytes(UTF_8)))
        .isEqualTo(new Position(16, 17, 5, 2, new DatabaseIdentity("7423", 1, "cluster")));
  }

  @Test
  void foreignRecordIsRefused() {
    assertThatThrownBy(() -> PositionStore.decode("{}".getBytes(UTF_8)))
        .hasMessageContaining("cannot be read");
  }
}
