/**
 * A payment provider over real HTTP, with seeded faults, webhooks and a ledger of its own that
 * tests use as the oracle.
 *
 * <p>Threads: Jetty threads read requests and never wait; delays, settlements and webhook retries
 * run on one small scheduler. Invariants: a charge is created once per remembered idempotency key;
 * what a fault does depends on (seed, merchant_transaction_id, number of the call) and never on the
 * order of arrival; the ledger tells the truth about money whatever the client was told. State is
 * in memory: a restart forgets charges and keys.
 */
@NullMarked
package io.payrelay.simulator;

import org.jspecify.annotations.NullMarked;
