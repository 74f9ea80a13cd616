package io.payrelay.platform.config;

/** A value that must not be shown: it prints as {@code [hidden]}. Immutable. */
public record Secret(String reveal) {

  /** Returns {@code [hidden]}, so that a log line or an error cannot leak the value. */
  @Override
  public String toString() {
    return "[hidden]";
  }
}
