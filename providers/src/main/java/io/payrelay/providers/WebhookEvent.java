package io.payrelay.providers;

import io.payrelay.payments.lifecycle.Fact;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * What a webhook body says. Immutable; the array is not changed by anybody.
 *
 * @param eventId the provider's id of the event, the same on every delivery
 * @param businessDigest SHA-256 of the fields that say what happened, without those that differ
 *     from delivery to delivery
 * @param paymentId ours, where the body names it
 * @param fact what it says of that payment; empty where the type is not one we act on
 */
public record WebhookEvent(
    String eventId,
    String eventType,
    byte[] businessDigest,
    @Nullable String paymentId,
    Optional<Fact> fact) {}
