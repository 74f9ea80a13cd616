package io.payrelay.workbench;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jdbi.v3.core.Handle;

/**
 * Money that the ledger shows, by the provider's id of its movement, each posting on its own: two
 * of one movement are not one. Belongs to one thread.
 */
final class BookedMoney {

  private final Map<String, List<String>> money = new HashMap<>();

  private BookedMoney() {}

  /** Postings of these kinds, separated by commas. */
  static BookedMoney of(Handle handle, String kinds) {
    BookedMoney booked = new BookedMoney();
    handle
        .createQuery(
            """
            SELECT p.business_key, e.amount_minor, e.currency
            FROM payrelay.ledger_posting p JOIN payrelay.ledger_entry e USING (posting_id)
            WHERE p.kind = ANY (string_to_array(:kinds, ',')) AND e.side = 'DEBIT'
            """)
        .bind("kinds", kinds)
        .map(
            (row, context) ->
                Map.entry(lastPart(row.getString(1)), row.getLong(2) + row.getString(3)))
        .forEach(
            entry ->
                booked
                    .money
                    .computeIfAbsent(entry.getKey(), any -> new ArrayList<>())
                    .add(entry.getValue()));
    return booked;
  }

  boolean has(String id) {
    return money.containsKey(id);
  }

  /** Differences from one booking of that money; it is not left over any more. */
  long settle(String id, String wanted) {
    List<String> found = money.remove(id);
    if (found == null) {
      return 1;
    }
    return found.remove(wanted) ? found.size() : Math.max(1, found.size());
  }

  /** What nobody has asked for. */
  long left() {
    return money.values().stream().mapToLong(List::size).sum();
  }

  private static String lastPart(String key) {
    return key.substring(key.lastIndexOf(':') + 1);
  }
}
