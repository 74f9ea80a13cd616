package io.payrelay.relay;

/**
 * Named places where a test or the chaos run makes the relay fail, freeze or die; in production
 * nothing happens, and no setting reaches it. Called from several threads.
 */
public interface RelayFaults {

  /** Nothing happens. */
  RelayFaults NONE = point -> {};

  /** The places, in the order in which a batch passes them. */
  enum Point {
    /** The supervising thread is about to renew the lease. */
    BEFORE_RENEW,
    /** The lease is held, the producer not yet made. */
    BEFORE_FENCING,
    /** The Kafka transaction is open and empty. */
    AFTER_BEGIN,
    /** The rows are sent, the position is not. */
    AFTER_SENDS,
    /** Rows and position are sent, nothing is committed. */
    BEFORE_COMMIT,
    /** Kafka has the batch, nothing else knows it. */
    AFTER_COMMIT
  }

  /** The relay is at that place now. */
  void reached(Point point);
}
