package io.payrelay.simulator;

import com.fasterxml.jackson.databind.node.ObjectNode;
import io.payrelay.simulator.stripe.StripeError;
import io.payrelay.simulator.stripe.StripeJson;

/** An answer of the Stripe face, written already. The array is not changed by anybody. */
record StripeResponse(int status, byte[] body) implements Response {

  static StripeResponse ok(ObjectNode object) {
    return new StripeResponse(200, StripeJson.bytes(object));
  }

  static StripeResponse of(StripeError error) {
    return new StripeResponse(error.status(), StripeJson.bytes(StripeJson.error(error)));
  }
}
