package io.payrelay.providers;

import io.payrelay.payments.lifecycle.Payment;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;

/**
 * A provider to which charges are sent. Safe for any thread. The futures never complete
 * exceptionally for anything that happened on the wire or in an answer: that is a {@link
 * ProviderResult}.
 */
public interface PaymentProvider extends AutoCloseable {

  /** The name payments carry. */
  String name();

  /** What the provider promises. */
  Capabilities capabilities();

  /**
   * Builds the exact request body of a payment's charge, or refuses. Pure: equal rows, equal bytes.
   */
  Prepared prepareCharge(Payment payment);

  /**
   * Sends a charge. A call that is past its send deadline is not sent and completes with {@link
   * ProviderResult.NotProcessed} of reason {@link #RETURNED_UNSENT}.
   */
  CompletableFuture<ProviderAnswer> charge(ChargeCall call);

  /**
   * Asks what became of a payment's charge. Of one that was paid the answer may show what was given
   * back since, as far as the provider tells it within the time; the result is no less certain
   * where it does not.
   */
  CompletableFuture<ProviderAnswer> query(ChargeRef charge, Duration timeout);

  /** Cancels what can still be paid of a payment's charge, and says how it stands afterwards. */
  CompletableFuture<ProviderAnswer> cancel(ChargeRef charge, Duration timeout);

  /**
   * Builds the exact request body of a refund, or refuses. Pure: equal orders, equal bytes. Only
   * asked for where {@link Capabilities#refunds} is not NONE.
   */
  Prepared prepareRefund(RefundOrder order);

  /**
   * Sends a refund, under the same rules as a charge. The answer speaks of the refund: its provider
   * transaction id is the provider's id of the refund, its amount what is given back.
   */
  CompletableFuture<ProviderAnswer> refund(RefundCall call);

  /** Asks what became of a refund; answers as {@link #refund} does. */
  CompletableFuture<ProviderAnswer> queryRefund(RefundRef refund, Duration timeout);

  /**
   * How long the provider asks everybody to stay away, by a 429 or 503 with Retry-After to any
   * call: nothing is claimed for it meanwhile. Bounded by a minute or so, and zero where it does
   * not ask.
   */
  default Duration pauseLeft() {
    return Duration.ZERO;
  }

  /** Reason of a call that came too late to be sent. */
  String RETURNED_UNSENT = "returned unsent: its deadline was over";

  /** Reason of a question that is not sent, because the provider answers none. */
  String NOBODY_TO_ASK = "nobody to ask";

  /** Reason of a call that was refused for our own credentials: an operator has to act. */
  String AUTHENTICATION_REFUSED = "authentication refused";

  /** Frees connections and threads. */
  @Override
  void close();
}
