package io.payrelay.providers;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * Names a refund to a provider that is asked about it. Immutable.
 *
 * @param providerTransactionId the money movement that is given back
 * @param providerReference the provider's own id of the refund, as an earlier answer gave it; null
 *     where none did: it has to be looked for by our refund id
 * @param notBefore nothing of this refund was sent before that
 */
public record RefundRef(
    String refundId,
    String paymentId,
    String providerTransactionId,
    @Nullable String providerReference,
    Instant notBefore) {}
