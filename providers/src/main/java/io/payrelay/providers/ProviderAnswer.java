package io.payrelay.providers;

/**
 * A result with the evidence for it. Immutable; the array is not changed by anybody.
 *
 * @param httpStatus 0 where there was no answer
 * @param body the answer's body, cut at {@link #BODY_BYTES_MAX}; no headers
 */
public record ProviderAnswer(ProviderResult result, int httpStatus, byte[] body) {

  public static final int BODY_BYTES_MAX = 64 * 1024;

  /** A result without an answer. */
  public static ProviderAnswer without(ProviderResult result) {
    return new ProviderAnswer(result, 0, new byte[0]);
  }
}
