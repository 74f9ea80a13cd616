package io.payrelay.simulator;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A charge as the provider knows it, for oracles. Immutable snapshot.
 *
 * @param moneyMoved whether the customer has paid: what a test compares with the system under test
 * @param calls calls of {@code POST /v1/charges} so far for this merchant_transaction_id, refused
 *     and lost ones included
 */
public record SimulatedCharge(
    String id,
    String merchantTransactionId,
    ChargeStatus status,
    long amountMinor,
    String currency,
    @Nullable String payeeAccount,
    @Nullable String failureCode,
    Instant createdAt,
    String idempotencyKey,
    boolean moneyMoved,
    int calls) {}
