package io.payrelay.webhook;

import io.payrelay.providers.WebhookRequest;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * An event as it was kept. Immutable; the array is not changed by anybody.
 *
 * @param request with the kept headers only
 * @param age since receipt, by the database clock
 * @param reason why it is disposed of as it is
 */
record StoredEvent(
    String provider,
    String eventId,
    WebhookRequest request,
    Instant receivedAt,
    Duration age,
    Disposition disposition,
    @Nullable String reason,
    int matchCount) {

  private static final String AT_FIRST = "at first: ";

  /**
   * What is written as the reason once this event is disposed of anew: why it had failed at first
   * stays with it, whatever comes of it later.
   */
  @Nullable String reasonBeside(@Nullable String latest) {
    String first = reason;
    int told = first == null ? -1 : first.indexOf(AT_FIRST);
    if (first == null || (told < 0 && disposition != Disposition.FAILED)) {
      return latest;
    }
    first = told < 0 ? first : first.substring(told + AT_FIRST.length());
    if (latest == null || latest.equals(first)) {
      return latest == null ? AT_FIRST + first : first;
    }
    return latest + "; " + AT_FIRST + first;
  }
}
