package io.payrelay.payments.store;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * How an attempt ended and what follows. Immutable; the array is not changed by anybody.
 *
 * @param providerReference the provider's own id of it, as this attempt learned it
 * @param httpStatus 0 where there was no answer
 * @param next null: nothing is left to do
 * @param delay until the next action
 */
public record FinishedAttempt(
    long operationId,
    long attemptId,
    AttemptOutcome outcome,
    int httpStatus,
    byte[] responseBody,
    @Nullable String detail,
    @Nullable String providerReference,
    @Nullable OperationAction next,
    Duration delay) {}
