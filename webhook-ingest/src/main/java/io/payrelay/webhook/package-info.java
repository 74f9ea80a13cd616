/**
 * Providers' webhooks to decisions (docs/webhooks.md): raw bytes, proof, one transaction with raw
 * event and everything that follows from it, and only then 2xx.
 *
 * <p>How a request goes: {@link io.payrelay.webhook.BodyGate} reads its body, {@link
 * io.payrelay.webhook.WebhookEndpoint} verifies it and hands it to {@link
 * io.payrelay.webhook.Ingest}, whose queue is bounded; no thread waits for it from there on. Two
 * writers take what waits, each up to a bound, without waiting for more, and {@link
 * io.payrelay.webhook.EventWriter} writes it in one transaction: known events, locks, decisions
 * (FactStore), new events, repeated ones. What would hold the others up goes aside, into a
 * transaction of its own on one of a few other threads: an event whose payment somebody else has
 * locked, and each event of a batch that failed, where the bad one alone is then stored as FAILED.
 * One loop, {@link io.payrelay.webhook.ParkedMatcher}, matches parked events again.
 *
 * <p>Invariants: an event is applied once, an authentic event is never lost and never silent, a 2xx
 * comes after the commit, nothing from a request is logged. Answered 503 an event may still have
 * been committed: delivered again it is a duplicate.
 */
@NullMarked
package io.payrelay.webhook;

import org.jspecify.annotations.NullMarked;
