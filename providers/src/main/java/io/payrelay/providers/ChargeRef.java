package io.payrelay.providers;

import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * Names a payment's charge to a provider that is asked about it. Immutable.
 *
 * @param providerReference the provider's own id of it, as an earlier answer gave it; null where
 *     none did: it has to be looked for by our payment id
 * @param notBefore nothing of this payment was sent before that
 * @param sinceLastCall how long ago the last call was begun that may have been sent; null where
 *     nobody knows
 */
public record ChargeRef(
    String paymentId,
    @Nullable String providerReference,
    Instant notBefore,
    @Nullable Duration sinceLastCall) {

  /** A charge of which nobody knows when it was last sent. */
  public ChargeRef(String paymentId, @Nullable String providerReference, Instant notBefore) {
    this(paymentId, providerReference, notBefore, null);
  }
}
