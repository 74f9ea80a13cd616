package io.payrelay.payments.lifecycle;

import io.payrelay.payments.money.Money;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Something a person has to look at, with the evidence. Immutable.
 *
 * @param businessKey unique for the conflict: seen again it is still one case
 */
public record ExceptionCase(
    String businessKey,
    ExceptionKind kind,
    @Nullable String paymentId,
    @Nullable String provider,
    @Nullable String providerTransactionId,
    @Nullable Money expected,
    @Nullable Money observed,
    @Nullable String traceId,
    Map<String, String> evidence,
    Instant eventAt) {

  /** Copies the map. */
  public ExceptionCase {
    evidence = Map.copyOf(evidence);
  }
}
