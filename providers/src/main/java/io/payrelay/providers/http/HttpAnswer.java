package io.payrelay.providers.http;

import io.payrelay.providers.ProviderAnswer;
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;

/**
 * An HTTP answer as far as it is read. Immutable; the array is not changed by anybody.
 *
 * @param headers lower-case names, of each header the first value
 * @param body at most one byte more than is accepted
 */
public record HttpAnswer(int status, Map<String, String> headers, byte[] body) {

  /** Copies the map. */
  public HttpAnswer {
    headers = Map.copyOf(headers);
  }

  /** The header's value. */
  public Optional<String> header(String lowerCaseName) {
    return Optional.ofNullable(headers.get(lowerCaseName));
  }

  /** The body as it is kept: cut at the limit. */
  public byte[] keptBody() {
    return body.length > ProviderAnswer.BODY_BYTES_MAX
        ? Arrays.copyOf(body, ProviderAnswer.BODY_BYTES_MAX)
        : body;
  }
}
