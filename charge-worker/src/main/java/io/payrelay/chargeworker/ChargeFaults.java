package io.payrelay.chargeworker;

/** Named places where a test makes the worker die; in production nothing happens. */
@FunctionalInterface
public interface ChargeFaults {

  ChargeFaults NONE = point -> {};

  /** The places, in the order in which a charge passes them. */
  enum Point {
    /** The operations of a batch are committed, the offsets of their events are not. */
    AFTER_ACCEPT,
    /** The same of refunds. */
    AFTER_REFUND_ACCEPT,
    /** The attempt is committed, nothing is sent. */
    AFTER_CLAIM,
    /** The provider has answered, nothing is written. */
    AFTER_ANSWER,
    /** The outcome is committed. */
    AFTER_WRITE
  }

  /** Called on the worker's own threads. */
  void reached(Point point);
}
