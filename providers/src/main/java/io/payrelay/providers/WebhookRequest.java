package io.payrelay.providers;

import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * A webhook request as it came. Immutable; the array is not changed by anybody.
 *
 * @param headers lower-case names; where one came twice, both values joined by a comma
 * @param body the raw bytes: signatures are over these
 */
public record WebhookRequest(Map<String, String> headers, byte[] body) {

  /** Copies the map. */
  public WebhookRequest {
    headers = Map.copyOf(headers);
  }

  /** The header's value. */
  public Optional<String> header(String name) {
    return Optional.ofNullable(headers.get(name.toLowerCase(Locale.ROOT)));
  }
}
