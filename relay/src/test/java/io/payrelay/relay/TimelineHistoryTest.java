package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.LongRange;
import org.junit.jupiter.api.Test;

class TimelineHistoryTest {

  private static final String FILE =
      """
      1\t0/3000000\tno recovery target specified

      # a person's remark
      2\t0/5000000\tno recovery target specified
      """;

  @Test
  void readsTheFileOfTheServer() {
    assertThat(TimelineHistory.parse(3, FILE).switches())
        .containsExactly(
            new TimelineHistory.Switch(1, 0x3000000), new TimelineHistory.Switch(2, 0x5000000));
    assertThatThrownBy(() -> TimelineHistory.parse(3, "1\tnowhere\tx"))
        .isInstanceOf(IllegalArgumentException.class);
  }

  @Property(tries = 500)
  void takesAPositionAtOrBeforeTheForkOfItsTimelineOnly(
      @ForAll @LongRange(min = 1, max = 0x6000000) long lsn) {
    TimelineHistory history = TimelineHistory.parse(3, FILE);

    assertThat(history.lacks(position(lsn, 0, 0, 1)) == null).isEqualTo(lsn <= 0x3000000);
    assertThat(history.lacks(position(lsn, 0, 0, 2)) == null).isEqualTo(lsn <= 0x5000000);
    assertThat(history.lacks(position(lsn, 0, 0, 4))).contains("does not descend");
  }

  @Test
  void rowsOfAnOpenTransactionMustLieBeforeTheForkToo() {
    TimelineHistory history = TimelineHistory.parse(3, FILE);

    assertThat(history.lacks(position(0x2000000, 2, 0x2FFFFF0, 1))).isNull();
    assertThat(history.lacks(position(0x2000000, 2, 0x3000000, 1)))
        .contains("left timeline 1 at 0/3000000, before the relay's position 0/2000000 + 2 rows");
    // Written by a build that did not store the row's place.
    assertThat(history.lacks(position(0x2000000, 2, 0, 1))).isNotNull();
  }

  @Test
  void openTransactionWithoutRowsIsForgottenOnAnotherTimeline() {
    Position open = position(0x2000000, 0, 0, 1);

    assertThat(open.of(new DatabaseIdentity("7", 1, "k", "p")).txId()).isEqualTo(9);
    assertThat(open.of(new DatabaseIdentity("7", 2, "k", "p")).txId()).isZero();
    assertThat(position(0x2000000, 1, 5, 1).of(new DatabaseIdentity("7", 2, "k", "p")).txId())
        .isEqualTo(9);
  }

  private static Position position(long lsn, long rows, long lastRowLsn, long timeline) {
    return new Position(lsn, 0, 9, rows, lastRowLsn, new DatabaseIdentity("7", timeline, "k"));
  }
}
