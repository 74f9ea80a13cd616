package io.payrelay.relay;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.Test;

final class RowRefTest {

  @Test
  void keepsTransactionsTogetherAndOrdersThemByTheirFirstId() {
    // The second began first but wrote last; a savepoint gave its middle row a later id.
    RowRef first = row(200, 50, 7);
    RowRef second = row(100, 40, 1);
    RowRef savepoint = row(100, 39, 2);
    RowRef third = row(100, 40, 3);
    RowRef last = row(150, 38, 1);

    List<RowRef> rows = new ArrayList<>(List.of(last, third, savepoint, second, first));
    Collections.shuffle(rows, new Random(3));
    RowRef.sort(rows);

    assertThat(rows).containsExactly(first, second, savepoint, third, last);
  }

  @Test
  void rowsThatTellNoTimeFollowTheirOwnIds() {
    RowRef first = row(CreatedAt.INFINITY, 50, 7);
    RowRef second = row(100, 40, 1);
    RowRef last = row(CreatedAt.INFINITY, 30, 1);

    List<RowRef> rows = new ArrayList<>(List.of(last, second, first));
    RowRef.sort(rows);

    assertThat(rows).containsExactly(first, second, last);
  }

  private static RowRef row(long createdUsec, int age, long place) {
    return new RowRef(UUID.randomUUID(), createdUsec, age, place);
  }
}
