package io.payrelay.relay;

/** What a relay is doing. */
public enum RelayState {
  /** Another relay owns the slot, or none could be asked yet. */
  STANDBY,
  /** It owns the slot and checks position, slot and topics. */
  STARTING,
  /** It publishes. */
  ACTIVE,
  /** It failed and waits before the next start. */
  RECOVERING,
  /** It has ended. */
  STOPPED
}
