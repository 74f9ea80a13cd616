package io.payrelay.workbench;

import java.util.List;
import org.jdbi.v3.core.Jdbi;

/**
 * Gives one in twenty payments back once it has SUCCEEDED: a fifth of these whole, of the others
 * the half. Safe for any thread.
 */
final class Refunding {

  private final Jdbi owner;
  private final Shop shop;

  private record Paid(String paymentId, long amountMinor, String currency) {}

  /**
   * Prepares.
   *
   * @param owner sees which payments have succeeded: an upstream would read the status topic
   */
  Refunding(Jdbi owner, Shop shop) {
    this.owner = owner;
    this.shop = shop;
  }

  /** Asks for the refunds that can be asked for now; returns how many. */
  int ask() {
    List<Paid> due =
        owner.withHandle(
            handle ->
                handle
                    .createQuery(
                        """
                        SELECT p.payment_id, p.amount_minor, p.currency FROM payrelay.payment p
                        WHERE p.status = 'SUCCEEDED' AND right(p.payment_id, 2) IN ('05', '25', '45', '65', '85')
                          AND NOT EXISTS (SELECT FROM payrelay.refund r WHERE r.payment_id = p.payment_id)
                        """)
                    .map(
                        (row, context) ->
                            new Paid(row.getString(1), row.getLong(2), row.getString(3)))
                    .list());
    for (Paid paid : due) {
      boolean whole = paid.paymentId().endsWith("05");
      shop.refund(
          paid.paymentId(),
          whole ? paid.amountMinor() : (paid.amountMinor() + 1) / 2,
          paid.currency());
    }
    return due.size();
  }
}
