package io.payrelay.relay;

import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * What a person decides about a recovery. Immutable.
 *
 * @param longestTransaction rows that a longer one wrote before the position's commit time are not
 *     looked for
 * @param since instead of the position's commit time: all that committed before it is known to be
 *     in Kafka; null: as the position says
 * @param publishDoubtful also publish rows that may be among records deleted from Kafka
 * @param force go on even where slot and position fit each other
 */
public record RecoveryOptions(
    Duration longestTransaction, @Nullable Instant since, boolean publishDoubtful, boolean force) {

  /** What holds unless a person says otherwise. */
  public static final Duration LONGEST_TRANSACTION_DEFAULT = Duration.ofHours(24);

  /** Refuses a negative duration. */
  public RecoveryOptions {
    if (longestTransaction.isNegative()) {
      throw new IllegalArgumentException("--longest-transaction is negative");
    }
  }

  /** Nothing decided. */
  public static RecoveryOptions defaults() {
    return new RecoveryOptions(LONGEST_TRANSACTION_DEFAULT, null, false, false);
  }
}
