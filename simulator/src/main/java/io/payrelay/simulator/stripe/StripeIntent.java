package io.payrelay.simulator.stripe;

import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A payment intent at one moment. Immutable.
 *
 * @param amount in Stripe's units
 * @param received what of it was paid
 * @param attempt number of the last charge that was tried; 0: none
 * @param account the connected account it belongs to
 * @param destination the connected account that gets the money
 */
public record StripeIntent(
    String id,
    String status,
    long amount,
    long received,
    String currency,
    @Nullable String customer,
    @Nullable String paymentMethod,
    @Nullable String description,
    Map<String, String> metadata,
    int attempt,
    @Nullable StripeFailure failure,
    @Nullable String cancellationReason,
    @Nullable Instant canceledAt,
    @Nullable String account,
    @Nullable String destination,
    Instant created) {

  public static final String REQUIRES_PAYMENT_METHOD = "requires_payment_method";
  public static final String REQUIRES_CONFIRMATION = "requires_confirmation";
  public static final String REQUIRES_ACTION = "requires_action";
  public static final String PROCESSING = "processing";
  public static final String SUCCEEDED = "succeeded";
  public static final String CANCELED = "canceled";

  /** The charge of the last try; null before the first. */
  public @Nullable String latestCharge() {
    return attempt == 0 ? null : "ch_" + id.substring("pi_".length()) + "_" + attempt;
  }

  /** The same in another state. */
  public StripeIntent in(String newStatus, long newReceived, @Nullable StripeFailure newFailure) {
    return new StripeIntent(
        id,
        newStatus,
        amount,
        newReceived,
        currency,
        customer,
        paymentMethod,
        description,
        metadata,
        attempt,
        newFailure,
        cancellationReason,
        canceledAt,
        account,
        destination,
        created);
  }

  /** The same with one more try, by this payment method. */
  public StripeIntent tried(String method) {
    return new StripeIntent(
        id,
        status,
        amount,
        received,
        currency,
        customer,
        method,
        description,
        metadata,
        attempt + 1,
        failure,
        cancellationReason,
        canceledAt,
        account,
        destination,
        created);
  }

  /** The same, cancelled. */
  public StripeIntent canceled(@Nullable String reason, Instant at) {
    return new StripeIntent(
        id,
        CANCELED,
        amount,
        received,
        currency,
        customer,
        paymentMethod,
        description,
        metadata,
        attempt,
        failure,
        reason,
        at,
        account,
        destination,
        created);
  }
}
