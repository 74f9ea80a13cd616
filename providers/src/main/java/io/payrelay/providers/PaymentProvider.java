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

  /** Asks what became of a payment's charge. */
  CompletableFuture<ProviderAnswer> query(String paymentId, Duration timeout);

  /** Cancels what can still be paid of a payment's charge, and says how it stands afterwards. */
  CompletableFuture<ProviderAnswer> cancel(String paymentId, Duration timeout);

  /** Reason of a call that came too late to be sent. */
  String RETURNED_UNSENT = "returned unsent: its deadline was over";

  /** Reason of a call that was refused for our own credentials: an operator has to act. */
  String AUTHENTICATION_REFUSED = "authentication refused";

  /** Frees connections and threads. */
  @Override
  void close();
}
