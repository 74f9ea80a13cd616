/**
 * Double entry: accounts, and postings that balance by construction. Pure and immutable: no I/O,
 * any thread. The database holds the same rules once more for whoever comes by another way.
 */
@NullMarked
package io.payrelay.payments.ledger;

import org.jspecify.annotations.NullMarked;
