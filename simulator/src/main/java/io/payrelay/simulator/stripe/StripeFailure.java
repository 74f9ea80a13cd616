package io.payrelay.simulator.stripe;

import org.jspecify.annotations.Nullable;

/** Why a try of a payment intent failed. Immutable. */
public record StripeFailure(String code, @Nullable String declineCode, String message) {

  /** The bank says no. */
  public static StripeFailure declined(String declineCode) {
    return new StripeFailure("card_declined", declineCode, "Your card was declined.");
  }

  /** Only the customer could go on, and he is not there. */
  public static StripeFailure authenticationRequired() {
    return new StripeFailure(
        "authentication_required",
        "authentication_required",
        "Your card was declined. This transaction requires authentication.");
  }
}
