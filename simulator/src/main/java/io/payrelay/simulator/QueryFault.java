package io.payrelay.simulator;

/** What happens to one query of a charge, beside its honest answer. */
public enum QueryFault {
  /** The honest answer. */
  NONE,
  /** 503 {@code unavailable}. */
  UNAVAILABLE,
  /** No answer until the client goes away. */
  TIMEOUT
}
