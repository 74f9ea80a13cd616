/**
 * What Payrelay needs of a payment provider: calls with five-valued results, and webhooks. One
 * package below this one per provider. Implementations are safe for any thread, keep no state about
 * payments and never throw for what a provider does: whatever happens after bytes may have left is
 * a value.
 */
@NullMarked
package io.payrelay.providers;

import org.jspecify.annotations.NullMarked;
