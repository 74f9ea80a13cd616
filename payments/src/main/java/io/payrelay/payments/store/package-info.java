/**
 * The SQL of payments, operations, ledger and exception cases. Every method takes the transaction
 * it joins as its first parameter; callers lock payments in id order and hold no network call
 * inside. Stateless, safe for any thread.
 */
@NullMarked
package io.payrelay.payments.store;

import org.jspecify.annotations.NullMarked;
