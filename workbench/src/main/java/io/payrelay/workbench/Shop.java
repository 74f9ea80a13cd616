package io.payrelay.workbench;

import io.payrelay.payments.money.Money;
import io.payrelay.platform.errors.Failures;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import org.jdbi.v3.core.Handle;
import org.jdbi.v3.core.Jdbi;
import org.jdbi.v3.core.JdbiException;

/**
 * An upstream service: writes payments under the upstream role, half of them by plain INSERTs and
 * half by request_payment. The seed decides the amounts and currencies. Safe for any thread.
 */
public final class Shop {

  private static final List<String> CURRENCIES = List.of("USD", "EUR", "CNY", "JPY", "KWD");
  private static final int AMOUNT_MINOR_MAX = 100_000;
  private static final String NOTHING_CAPTURED = "23514";

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

  /** Asks for one minor unit of the payment back, if it has been captured meanwhile. */
  public void askBack(int number) {
    try {
      jdbi.useHandle(
          handle ->
              handle
                  .createQuery(
                      "SELECT payrelay.request_refund(:refund_id, :payment_id, 1, :currency)")
                  .bind("refund_id", String.format(Locale.ROOT, "ref_%d_%06d", seed, number))
                  .bind("payment_id", paymentId(number))
                  .bind("currency", terms(number).currency())
                  .mapTo(String.class)
                  .one());
    } catch (JdbiException e) {
      // A payment that was declined, or that has no end yet, has nothing to give back.
      if (!NOTHING_CAPTURED.equals(Failures.sqlState(e))) {
        throw e;
      }
    }
  }

  /** The id of the payment with that number. */
  public String paymentId(int number) {
    return String.format(Locale.ROOT, "pay_%d_%06d", seed, number);
  }

  private Money terms(int number) {
    SplittableRandom random = new SplittableRandom(seed * 1_000_003 + number);
    long amountMinor = 1L + random.nextInt(AMOUNT_MINOR_MAX);
    return new Money(amountMinor, CURRENCIES.get(random.nextInt(CURRENCIES.size())));
  }

  private void order(Handle tx, int number) {
    Money terms = terms(number);
    long amountMinor = terms.amountMinor();
    String currency = terms.currency();
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
