/**
 * What Stripe's API v1 looks like on the wire: parameters, objects, errors, events and their
 * signature. Everything is immutable or stateless; what happens to money is decided outside.
 */
@NullMarked
package io.payrelay.simulator.stripe;

import org.jspecify.annotations.NullMarked;
