package io.payrelay.workbench;

import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.Jdbi;

/**
 * An upstream service: writes payments under the upstream role, half of them by plain INSERTs and
 * half by request_payment. The seed decides the amounts and currencies. Safe for any thread.
 */
public final class Shop {

  private static final List<String> CURRENCIES = List.of("USD", "EUR", "CNY", "JPY", "KWD");
  private static final int AMOUNT_MINOR_MAX = 100_000;

  private final Jdbi jdbi;
  private final long seed;

  /** A shop that logs in as {@link DatabaseUsers#SHOP}. */
  public Shop(String jdbcUrl, long seed) {
    this.jdbi = Jdbi.create(jdbcUrl, DatabaseUsers.SHOP, "");
    this.seed = seed;
  }

  /** Makes that many payments, each in a transaction of its own. */
  public void order(int payments) {
    order(0, payments);
  }

  /** Makes the payments from one number up to another, which is not among them. */
  public void order(int first, int end) {
    try (Handle handle = jdbi.open()) {
      for (int i = first; i < end; i++) {
        int number = i;
        handle.useTransaction(tx -> order(tx, number));
      }
    }
  }

  /** Asks for a refund of a payment. */
  void refund(String paymentId, long amountMinor, String currency) {
    jdbi.useTransaction(
        tx ->
            tx.createQuery(
                    "SELECT payrelay.request_refund(:refund_id, :id, :amount_minor, :currency)")
                .bind("refund_id", "ref" + paymentId.substring("pay".length()))
                .bind("id", paymentId)
                .bind("amount_minor", amountMinor)
                .bind("currency", currency)
                .mapTo(String.class)
                .one());
  }

  /** The id of the payment with that number. */
  public String paymentId(int number) {
    return String.format(Locale.ROOT, "pay_%d_%06d", seed, number);
  }

  private void order(Handle tx, int number) {
    SplittableRandom random = new SplittableRandom(seed * 1_000_003 + number);
    long amountMinor = 1L + random.nextInt(AMOUNT_MINOR_MAX);
    String currency = CURRENCIES.get(random.nextInt(CURRENCIES.size()));
    String paymentId = paymentId(number);
    String traceId = String.format(Locale.ROOT, "trace-%d-%06d", seed, number);
    if (number % 2 == 0) {
      tx.createQuery(
              """
              SELECT payrelay.request_payment(:payment_id, 'demo-shop', :order, 'simulator', :amount_minor,
                :currency, payee_account => 'acct_demo', trace_id => :trace_id)
              """)
          .bind("payment_id", paymentId)
          .bind("order", "order-" + seed + "-" + number)
          .bind("amount_minor", amountMinor)
          .bind("currency", currency)
          .bind("trace_id", traceId)
          .mapTo(String.class)
          .one();
      return;
    }
    tx.createUpdate(
            """
            INSERT INTO payrelay.payment (payment_id, merchant, merchant_order_id, provider, amount_minor,
              currency, payee_account, trace_id)
            VALUES (:payment_id, 'demo-shop', :order, 'simulator', :amount_minor, :currency, 'acct_demo',
              :trace_id)
            """)
        .bind("payment_id", paymentId)
        .bind("order", "order-" + seed + "-" + number)
        .bind("amount_minor", amountMinor)
        .bind("currency", currency)
        .bind("trace_id", traceId)
        .execute();
    tx.createUpdate(
            """
            INSERT INTO payrelay.outbox (aggregate_type, aggregate_id, event_type, payload, trace_id)
            VALUES ('payment', :payment_id, 'ChargeRequested', json_build_object(
              'payment_id', :payment_id, 'merchant', 'demo-shop', 'merchant_order_id', :order,
              'provider', 'simulator', 'amount_minor', :amount_minor, 'currency', :currency,
              'trace_id', :trace_id), :trace_id)
            """)
        .bind("payment_id", paymentId)
        .bind("order", "order-" + seed + "-" + number)
        .bind("amount_minor", amountMinor)
        .bind("currency", currency)
        .bind("trace_id", traceId)
        .execute();
  }
}
