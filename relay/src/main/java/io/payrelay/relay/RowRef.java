package io.payrelay.relay;

import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/**
 * A row of the outbox without its content, and what its order is made of. Immutable.
 *
 * @param createdUsec when its transaction began, as {@link CreatedAt} has it
 * @param age how many transaction ids ago the row was written: the larger, the earlier
 * @param place block and line in its partition
 */
record RowRef(UUID eventId, long createdUsec, int age, long place) {

  /** Bytes of one in a list that is sorted. */
  static final int BYTES = 160;

  /**
   * Sorts as near to the order of commits as the table can tell, for there is no such order in it.
   * Rows with the same time are of one transaction and stay together, in the order in which they
   * lie in the table. Transactions follow each other by their first transaction id: two that lock
   * the same aggregate before they write get their ids in the order of their commits.
   */
  static void sort(List<RowRef> rows) {
    Map<Long, Integer> oldest = new HashMap<>();
    for (RowRef row : rows) {
      if (CreatedAt.tellsTransactionsApart(row.createdUsec)) {
        oldest.merge(row.createdUsec, row.age, Math::max);
      }
    }
    rows.sort(
        Comparator.comparingInt((RowRef row) -> -oldest.getOrDefault(row.createdUsec, row.age))
            .thenComparingLong(RowRef::createdUsec)
            .thenComparingLong(RowRef::place));
  }
}
