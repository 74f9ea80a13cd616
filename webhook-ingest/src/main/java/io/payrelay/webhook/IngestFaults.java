package io.payrelay.webhook;

/** Where crash tests end the process or make the database fail; does nothing in production. */
public interface IngestFaults {

  /** Nothing happens. */
  IngestFaults NONE = new IngestFaults() {};

  /** Everything is written and nothing is durable. */
  default void beforeCommit() {}

  /** Everything is durable and nobody was told. */
  default void afterCommit() {}
}
