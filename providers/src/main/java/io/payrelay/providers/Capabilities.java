package io.payrelay.providers;

import java.time.Duration;

/**
 * What a provider promises. Immutable.
 *
 * @param keyLifetime how long it surely remembers an idempotency key after its first use
 * @param queryByPaymentId can a charge be looked up by our payment id?
 * @param queryLag how long a charge may be missing from queries after it was made: "not found"
 *     inside it is no answer
 * @param cancel can a charge that is not paid yet be cancelled?
 * @param refunds what can be given back
 */
public record Capabilities(
    Duration keyLifetime,
    boolean queryByPaymentId,
    Duration queryLag,
    boolean cancel,
    RefundSupport refunds) {}
