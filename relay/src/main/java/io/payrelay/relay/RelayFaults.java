package io.payrelay.relay;

/** Named places where a test makes the relay fail or freeze; in production nothing happens. */
interface RelayFaults {

  RelayFaults NONE = point -> {};

  /** The places, in the order in which a batch passes them. */
  enum Point {
    /** The supervising thread is about to renew the lease. */
    BEFORE_RENEW,
    /** The lease is held, the producer not yet made. */
    BEFORE_FENCING,
    AFTER_BEGIN,
    AFTER_SENDS,
    BEFORE_COMMIT,
    /** Kafka has the batch, nothing else knows it. */
    AFTER_COMMIT
  }

  void reached(Point point);
}
