/**
 * Providers' webhooks to decisions (DESIGN section 7): raw bytes, proof, one transaction with raw
 * event and everything that follows from it, and only then 2xx. Request threads come from a bounded
 * pool and hold no thread while a body trickles in; one loop matches parked events again.
 * Invariants: an event is applied once, an authentic event is never lost and never silent, nothing
 * from a request is logged.
 */
@NullMarked
package io.payrelay.webhook;

import org.jspecify.annotations.NullMarked;
