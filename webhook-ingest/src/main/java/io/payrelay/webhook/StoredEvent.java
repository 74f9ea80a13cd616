package io.payrelay.webhook;

import io.payrelay.providers.WebhookRequest;
import java.time.Duration;
import java.time.Instant;

/**
 * An event as it was kept. Immutable; the array is not changed by anybody.
 *
 * @param request with the kept headers only
 * @param age since receipt, by the database clock
 */
record StoredEvent(
    String provider,
    String eventId,
    WebhookRequest request,
    Instant receivedAt,
    Duration age,
    Disposition disposition,
    int matchCount) {}
