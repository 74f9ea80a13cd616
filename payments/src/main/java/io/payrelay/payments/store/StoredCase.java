package io.payrelay.payments.store;

import io.payrelay.payments.lifecycle.ExceptionKind;
import io.payrelay.payments.money.Money;
import java.time.Instant;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * An exception case as it stands. Immutable.
 *
 * @param resolvedAt null while it is open; then {@code resolvedBy} and {@code resolution} are too
 */
public record StoredCase(
    long id,
    String businessKey,
    ExceptionKind kind,
    @Nullable String paymentId,
    @Nullable String provider,
    @Nullable String providerTransactionId,
    @Nullable Money expected,
    @Nullable Money observed,
    @Nullable String traceId,
    Map<String, String> evidence,
    Instant eventAt,
    Instant openedAt,
    @Nullable Instant resolvedAt,
    @Nullable String resolvedBy,
    @Nullable String resolution) {

  /** Copies the map. */
  public StoredCase {
    evidence = Map.copyOf(evidence);
  }

  /** Our id of the refund that it is about; null where it is about a charge. */
  public @Nullable String refundId() {
    return evidence.get("refund_id");
  }

  /** Does it wait for a person? */
  public boolean isOpen() {
    return resolvedAt == null;
  }
}
