/** Tests of Stripe's adapter; its own library is the oracle. */
@NullMarked
package io.payrelay.providers.stripe;

import org.jspecify.annotations.NullMarked;
