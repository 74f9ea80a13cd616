/**
 * The generic HTTP provider: charges with idempotency keys, query by merchant transaction id, and
 * Standard Webhooks. The simulator speaks it; so can a house's own gateway
 * (docs/generic-provider.md).
 */
@NullMarked
package io.payrelay.providers.generic;

import org.jspecify.annotations.NullMarked;
