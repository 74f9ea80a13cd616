/**
 * Stripe (API v1). Webhooks here: proof by {@link io.payrelay.providers.StripeSignatures}, events
 * as snapshots of payment intents, charges, refunds and disputes. The payment intent is the
 * provider's transaction; our payment id travels in its metadata. Everything is immutable and safe
 * for any thread.
 */
@NullMarked
package io.payrelay.providers.stripe;

import org.jspecify.annotations.NullMarked;
