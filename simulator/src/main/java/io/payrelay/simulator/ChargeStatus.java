package io.payrelay.simulator;

import java.util.Locale;

/** Status of a charge at the provider. */
public enum ChargeStatus {
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
