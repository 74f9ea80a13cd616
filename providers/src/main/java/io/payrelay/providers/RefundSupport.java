package io.payrelay.providers;

/** What a provider can give back. */
public enum RefundSupport {
  NONE,
  /** A whole charge only, once. */
  FULL,
  /** Any part of a charge, any number of times up to its amount. */
  PARTIAL
}
