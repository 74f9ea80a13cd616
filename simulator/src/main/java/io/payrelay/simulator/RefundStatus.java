package io.payrelay.simulator;

import java.util.Locale;

/** Status of a refund at the provider. One that succeeded can still fail: its money comes back. */
public enum RefundStatus {
  SUCCEEDED,
  PENDING,
  FAILED,
  CANCELED;

  private final String wireName = name().toLowerCase(Locale.ROOT);

  /** The name used in JSON. */
  public String wireName() {
    return wireName;
  }
}
