package io.payrelay.providers;

import java.util.List;

/**
 * A result with the evidence for it. Immutable; the array is not changed by anybody.
 *
 * @param further other charges of the same payment that moved money: each of them is news
 * @param httpStatus 0 where there was no answer
 * @param body the answer's body, cut at {@link #BODY_BYTES_MAX}; no headers
 */
public record ProviderAnswer(
    ProviderResult result, List<ProviderResult> further, int httpStatus, byte[] body) {

  public static final int BODY_BYTES_MAX = 64 * 1024;

  /** Copies the list. */
  public ProviderAnswer {
    further = List.copyOf(further);
  }

  /** One result, as nearly always. */
  public ProviderAnswer(ProviderResult result, int httpStatus, byte[] body) {
    this(result, List.of(), httpStatus, body);
  }

  /** A result without an answer. */
  public static ProviderAnswer without(ProviderResult result) {
    return new ProviderAnswer(result, 0, new byte[0]);
  }
}
