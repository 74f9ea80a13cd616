package io.payrelay.providers;

import java.util.List;

/**
 * A result with the evidence for it. Immutable; the array is not changed by anybody.
 *
 * @param further other charges of the same payment that moved money: each of them is news
 * @param refunds what was given back of the money of the result and of the further ones, where the
 *     answer to a question about a charge shows it; none says nothing. Of too many the first {@link
 *     #REFUNDS_MAX}: of the others, as of those that no answer shows, the refund's webhook tells
 * @param httpStatus 0 where there was no answer
 * @param body the answer's body, cut at {@link #BODY_BYTES_MAX}; no headers
 */
public record ProviderAnswer(
    ProviderResult result,
    List<ProviderResult> further,
    List<ProviderRefund> refunds,
    int httpStatus,
    byte[] body) {

  public static final int BODY_BYTES_MAX = 64 * 1024;

  /** Each is a fact in the transaction that writes the answer. */
  public static final int REFUNDS_MAX = 100;

  /** Copies the lists. */
  public ProviderAnswer {
    further = List.copyOf(further);
    refunds = List.copyOf(refunds.subList(0, Math.min(refunds.size(), REFUNDS_MAX)));
  }

  /** An answer that shows no refunds. */
  public ProviderAnswer(
      ProviderResult result, List<ProviderResult> further, int httpStatus, byte[] body) {
    this(result, further, List.of(), httpStatus, body);
  }

  /** One result, as nearly always. */
  public ProviderAnswer(ProviderResult result, int httpStatus, byte[] body) {
    this(result, List.of(), httpStatus, body);
  }

  /** A result without an answer. */
  public static ProviderAnswer without(ProviderResult result) {
    return new ProviderAnswer(result, 0, new byte[0]);
  }

  /** The same, with what was given back since. */
  public ProviderAnswer withRefunds(List<ProviderRefund> given) {
    return new ProviderAnswer(result, further, given, httpStatus, body);
  }
}
