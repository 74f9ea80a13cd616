package io.payrelay.simulator.stripe;

import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A refund at one moment. Immutable.
 *
 * @param amount in Stripe's units
 */
public record StripeRefund(
    String id,
    String status,
    long amount,
    String currency,
    String intent,
    @Nullable String charge,
    @Nullable String reason,
    @Nullable String failureReason,
    Map<String, String> metadata,
    Instant created) {}
